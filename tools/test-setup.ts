// Installs programs that tests need and npm does not provide: Debian packages if this runs as root, and schemathesis from
// PyPI. Reports what it could not install but exits with 0, because tests that need a missing program are skipped and
// counted.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAMS, SCHEMATHESIS_FOLDER } from '@muster/testkit/programs'
import { launchBrowser } from '../e2e/browser.ts'

const APT = '/usr/bin/apt-get'
/** Lets apt wait up to 120 s for the lock of another apt process. */
const LOCK = ['-o', 'DPkg::Lock::Timeout=120']
const SCHEMATHESIS = 'schemathesis==4.32.5'
const missing = Object.entries(PROGRAMS).filter(([, { path }]) => !existsSync(path))
const packages: string[] = missing.flatMap(([, { debian }]) => debian)
const hasBrowser = await runsBrowser()
if (!hasBrowser) packages.push('chromium')

if (packages.length > 0 && process.getuid?.() === 0 && existsSync(APT)) {
  run(APT, 'update', ...LOCK, '-qq')
  // Packages are installed one by one, so that a package missing in this Debian release does not prevent the others.
  for (const name of packages) run(APT, 'install', ...LOCK, '-y', '-qq', '--no-install-recommends', name)
}
const schemathesis = join(SCHEMATHESIS_FOLDER, 'bin/schemathesis')
if (!existsSync(schemathesis)) {
  run('python3', '-m', 'venv', SCHEMATHESIS_FOLDER)
  run(join(SCHEMATHESIS_FOLDER, 'bin/pip'), 'install', '--quiet', SCHEMATHESIS)
}

for (const [name, { path, debian }] of missing) {
  if (!existsSync(path)) report(`${name} (Debian: ${debian.join(' ')})`)
}
if (!hasBrowser && !(await runsBrowser())) report('Chromium, without which no browser test runs')
if (!existsSync(schemathesis)) report(`${SCHEMATHESIS} (PyPI)`)

function report(what: string): void {
  process.stdout.write(`test:setup: could not install ${what}\n`)
}

function run(program: string, ...options: string[]): void {
  spawnSync(program, options, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

async function runsBrowser(): Promise<boolean> {
  return launchBrowser().then(
    browser => browser.close().then(() => true),
    () => false,
  )
}
