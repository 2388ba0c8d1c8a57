import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VERSION } from '@muster/actions/version'
import { freePort } from '../testkit/src/free-port.ts'
import { builtRelease } from '../tools/testing/built-release.ts'
import { median } from './child.ts'
import { bannerOf } from './hub-process.ts'
import { report, reportGoal } from './yardsticks.ts'

const RUNS = 5
/** Seconds within which an unpacked archive prints its first sign-in. */
const LIMIT_SECS = 15
/** Keeps a process and its children on two cores. */
const TWO_CORES = ['taskset', '--cpu-list', '0,1']

/** Unpacks the archive of a release into an empty folder and starts its hub, five times; prints the seconds until it prints its sign-in. */
export async function start(): Promise<void> {
  const { folder } = builtRelease()
  const name = `muster-hub-${VERSION}-linux-${process.arch}`
  const unpacking: number[] = []
  const totals: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const place = await mkdtemp(join(tmpdir(), 'muster-start-'))
    // The database runs under its own account, which must be able to enter the folder.
    await chmod(place, 0o755)
    const from = performance.now()
    const [program, ...words] = [...TWO_CORES, 'tar', '-xzf', join(folder, `${name}.tar.gz`), '-C', place]
    const { status, stderr } = spawnSync(program!, words, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`the archive was not unpacked: ${stderr}`)
    unpacking.push((performance.now() - from) / 1000)
    const [core, ...command] = [...TWO_CORES, join(place, name, 'bin/muster-hub')]
    const env = { PATH: process.env.PATH, MUSTER_PORT: String(await freePort()), MUSTER_LOG_LEVEL: 'warn' }
    const hub = spawn(core!, command, { cwd: place, env, stdio: ['ignore', 'pipe', 'inherit'] })
    process.once('exit', () => hub.kill('SIGKILL'))
    await bannerOf(hub)
    totals.push((performance.now() - from) / 1000)
    const ended = once(hub, 'exit')
    hub.kill('SIGTERM')
    await ended
    await rm(place, { recursive: true })
  }
  report('unpacking the archive', `${median(unpacking).toFixed(1)} s (median of ${RUNS})`)
  const secs = median(totals)
  const measured = `${secs.toFixed(1)} s (${totals.map(total => total.toFixed(1)).join(', ')})`
  reportGoal('', 'from the archive to the printed sign-in', measured, `< ${LIMIT_SECS} s`, secs < LIMIT_SECS)
}
