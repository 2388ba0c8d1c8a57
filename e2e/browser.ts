import { existsSync } from 'node:fs'
import { isInstalled } from '@muster/testkit/debian'
import { type Browser, chromium } from 'playwright-core'

const FLAGS = ['--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--font-render-hinting=none']
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** A browser that runs here: one that is installed, else the one from npm, else, as root on Debian, the distribution's. */
export async function launchBrowser(): Promise<Browser> {
  const failures: string[] = []
  for (const candidate of [installed, fromNpm, fromDebian]) {
    try {
      const path = await candidate()
      if (path) return await chromium.launch({ executablePath: path, args: FLAGS })
    } catch (error) {
      failures.push(error instanceof Error ? error.message.split('\n')[0]! : String(error))
    }
  }
  throw new Error(
    `No Chromium runs here: install one (Debian: apt-get install chromium). Tried: ${failures.join('; ')}`,
  )
}

function installed(): string | undefined {
  return [process.env.CHROME_PATH, ...INSTALLED].find(path => path && existsSync(path))
}

async function fromNpm(): Promise<string> {
  // The package unpacks the libraries that it needs only where it believes to be alone on a bare machine.
  process.env.AWS_EXECUTION_ENV ??= 'AWS_Lambda_nodejs22.x'
  const { default: packaged } = await import('@sparticuz/chromium')
  return packaged.executablePath()
}

function fromDebian(): string | undefined {
  return isInstalled('/usr/bin/chromium', 'chromium') ? installed() : undefined
}
