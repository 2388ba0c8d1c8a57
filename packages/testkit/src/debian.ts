import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const APT = '/usr/bin/apt-get'
/** Test files run side by side, and apt refuses to run twice at once. */
const LOCK = join(tmpdir(), 'muster-apt.lock')

/** Whether a program is there that Debian has; when the tests run as root its packages are installed first. */
export function isInstalled(program: string, ...packages: string[]): boolean {
  if (!existsSync(program) && process.getuid?.() === 0 && existsSync(APT)) {
    const install = `test -e ${program} || { ${APT} update -qq; ${APT} install -y -qq --no-install-recommends ${packages.join(' ')}; }`
    spawnSync('flock', [LOCK, 'sh', '-c', install], { stdio: 'ignore' })
  }
  return existsSync(program)
}
