import { existsSync } from 'node:fs'
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

/**
 * Starts an installed Chromium, or else the Chromium of an npm package. Throws if neither can be started. `npm run
 * test:setup` installs Debian's Chromium.
 */
export async function launchBrowser(): Promise<Browser> {
  const failures: string[] = []
  for (const candidate of [installed, fromNpm]) {
    try {
      const path = await candidate()
      if (path) return await chromium.launch({ executablePath: path, args: FLAGS })
    } catch (error) {
      failures.push(error instanceof Error ? error.message.split('\n')[0]! : String(error))
    }
  }
  throw new Error(
    `No Chromium runs here: \`npm run test:setup\` installs Debian's; elsewhere install one and set CHROME_PATH. Tried: ${failures.join('; ')}`,
  )
}

/**
 * Unpacks the Chromium of the npm package, unless another is installed. Test files that start at the same time would each unpack it to
 * the same path.
 */
export async function unpackBrowser(): Promise<void> {
  if (!installed()) await fromNpm()
}

function installed(): string | undefined {
  return [process.env.CHROME_PATH, ...INSTALLED].find(path => path && existsSync(path))
}

async function fromNpm(): Promise<string> {
  // The npm package unpacks Chromium's shared libraries only on AWS Lambda, which it recognizes by this variable.
  process.env.AWS_EXECUTION_ENV ??= 'AWS_Lambda_nodejs22.x'
  const { default: packaged } = await import('@sparticuz/chromium')
  return packaged.executablePath()
}
