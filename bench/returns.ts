import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { median } from './child.ts'
import { count, startBenchHub } from './hub-process.ts'
import { report } from './yardsticks.ts'

const CRASHES = 4
/** Time from the return of all devices to the next crash, in seconds: shorter than the minute after which a connection counts as stable. */
const BETWEEN_SECS = 5
const MAX_RETURN_SECS = 120

/**
 * Measures how long our agents take to return after `kill -9` of the hub, several times in a row (docs/comparison.md). The devices are those of
 * `muster-agent simulate`, each with the pauses of an agent. Arguments: number of devices (default 500), and the folder of the agent's
 * checkout, this one by default.
 */
export async function returns(devices = '500', checkout = join(import.meta.dirname, '..')): Promise<void> {
  await using hub = await startBenchHub({}, checkout)
  const agent = spawn(
    process.execPath,
    [
      join(checkout, 'apps/agent/muster-agent.js'),
      ...['simulate', '--hub', hub.url, '--token', hub.token, '--count', devices],
      ...['--rate', '0.01', '--no-outages'],
    ],
    { stdio: 'ignore' },
  )
  process.once('exit', () => agent.kill('SIGKILL'))
  const connected = () => count(hub, 'select count(*) from device where is_connected')
  const allConnected = async (): Promise<void> => {
    const until = performance.now() + MAX_RETURN_SECS * 1000
    while ((await connected()) < Number(devices)) {
      if (performance.now() > until)
        throw new Error(`${await connected()} of ${devices} devices are connected`)
      await pause(100)
    }
  }
  await allConnected()
  const secs: number[] = []
  for (let crash = 1; crash <= CRASHES; crash++) {
    await pause(BETWEEN_SECS * 1000)
    await hub.kill()
    const killedAt = performance.now()
    await hub.start()
    const readySecs = (performance.now() - killedAt) / 1000
    await allConnected()
    secs.push((performance.now() - killedAt) / 1000)
    report(
      `${devices} devices after crash ${crash}`,
      `hub ready after ${readySecs.toFixed(1)} s, all back after ${secs.at(-1)!.toFixed(1)} s`,
    )
  }
  report(`${devices} devices, median and last`, `${median(secs).toFixed(1)} and ${secs.at(-1)!.toFixed(1)} s`)
  agent.kill()
}
