import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

/**
 * `--ignore-certificate-errors` is for proxies with a self-signed certificate. With `ignoreHTTPSErrors` alone, Chromium starts a request again
 * for each connection whose certificate it does not know. After 32 of them it gives up with ERR_TOO_MANY_RETRIES, as seen while nodes stopped.
 */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--hide-scrollbars',
  '--font-render-hinting=none',
  '--ignore-certificate-errors',
]
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The npm package with a Chromium for Linux on x86-64. */
const PACKAGE = join(import.meta.dirname, '../node_modules/@sparticuz/chromium/package.json')
const UNPACK = join(import.meta.dirname, 'unpack-chromium.ts')

/**
 * Starts an installed Chromium, or else the Chromium of an npm package. Throws if neither can be started. `npm run
 * test:setup` installs Debian's Chromium.
 */
export async function launchBrowser(): Promise<Browser> {
  const failures: string[] = []
  for (const launch of [launchInstalled, launchPackaged]) {
    try {
      const browser = await launch()
      if (browser) return browser
    } catch (error) {
      failures.push(error instanceof Error ? error.message.split('\n')[0]! : String(error))
    }
  }
  throw new Error(
    `No Chromium runs here: \`npm run test:setup\` installs Debian's; elsewhere install one and set CHROME_PATH. Tried: ${failures.join('; ')}`,
  )
}

/** Starts the Chromium of the npm package with the fonts of the package, so that the fonts of the system do not matter. */
export async function launchPackaged(): Promise<Browser> {
  const folder = await unpacked()
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    args: FLAGS,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: [join(folder, 'al2023/lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
      FONTCONFIG_PATH: folder,
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
  })
}

/** Unpacks the Chromium of the npm package before the first test, unless another is installed. */
export async function unpackBrowser(): Promise<void> {
  if (!installed()) await unpacked()
}

async function launchInstalled(): Promise<Browser | undefined> {
  const executablePath = installed()
  return executablePath ? chromium.launch({ executablePath, args: FLAGS }) : undefined
}

function installed(): string | undefined {
  return [process.env.CHROME_PATH, ...INSTALLED].find(path => path && existsSync(path))
}

/**
 * Unpacks the npm package with its libraries and fonts, and writes a font configuration. Resolves to the folder. Every process unpacks to a
 * folder of its own and renames it at the end, so no process finds half a browser, whether others unpack at the same time or were killed.
 */
async function unpacked(): Promise<string> {
  const { version } = JSON.parse(await readFile(PACKAGE, 'utf8')) as { version: string }
  const folder = join(tmpdir(), `muster-chromium-${version}`)
  if (existsSync(folder)) return folder
  const own = await mkdtemp(`${folder}-`)
  try {
    // The npm package unpacks Chromium's shared libraries only on AWS Lambda, which it recognizes by this variable.
    const env = { ...process.env, TMPDIR: own, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' }
    await promisify(execFile)(process.execPath, [UNPACK], { env })
    await writeFile(join(own, 'fonts.conf'), fontConfiguration(folder))
    await rename(own, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(own, { recursive: true, force: true })
  }
  return folder
}

/**
 * Font configuration with the fonts of the npm package alone. The package's own configuration names `/tmp/fonts`, where no font is if the
 * package was unpacked elsewhere or a clean-up removed it. Chromium then renders no text or ends.
 */
function fontConfiguration(folder: string): string {
  const escaped = folder.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${escaped}/fonts/fonts</dir>
  <cachedir>${escaped}/fonts-cache</cachedir>
</fontconfig>
`
}
