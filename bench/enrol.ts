import { median } from './child.ts'
import { type BenchHub, count, startBenchHub } from './hub-process.ts'
import type { ConnectRun } from './load-client.ts'
import { treeProcessorSecs, withForeignCores } from './processes.ts'
import { type LoadClient, report, reportGoal, startLoadClient } from './yardsticks.ts'

/** Number of devices that connect at the same time. */
const PARALLEL = 64
/** Number of devices that connect before measuring starts, because they make the hub load and compile its code. */
const FIRST_DEVICES = 1_000
/** Limit of the processor time of hub and database for a new device, in microseconds. */
const MOST_MICROSECS = 1_300

type Side = { name: string; hub: BenchHub; client: LoadClient; runs: Run[] }
type Run = { perSec: number; hub: number; database: number }

/**
 * Measures new devices (docs/goals.md P31): processor time of hub and database for each, and their number a second. Arguments: number of
 * devices in a round, number of rounds, and the folder of another checkout. Its hub takes turns with this one, and a different one begins
 * each time.
 */
export async function enrol(devices = '2000', rounds = '6', other?: string): Promise<void> {
  await using here = await startBenchHub()
  await using there = other === undefined ? undefined : await startBenchHub({}, other)
  const sides: Side[] = [{ name: 'here', hub: here, client: startLoadClient(), runs: [] }]
  if (there) sides.push({ name: 'there', hub: there, client: startLoadClient(), runs: [] })
  for (const side of sides) {
    // By default a token admits 10,000 new devices at once.
    await side.hub.query('update deployment_token set new_devices_at_once = 1000000')
    await connect(side, FIRST_DEVICES)
  }
  let mostForeign = 0
  for (let round = 0; round < Number(rounds); round++)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const { result, foreignCores } = await withForeignCores(() => connect(side, Number(devices)))
      side.runs.push(result)
      mostForeign = Math.max(mostForeign, foreignCores)
    }
  report('foreign load, at most', `${mostForeign.toFixed(2)} cores`)
  for (const { name, hub, runs } of sides) {
    const expected = FIRST_DEVICES + Number(devices) * Number(rounds)
    const shown = await count(hub, 'select count(*) from device where is_connected')
    if (shown !== expected) throw new Error(`${shown} of ${expected} devices are shown as connected`)
    report(`${name}: hub and database, us a device`, runs.map(textOf).join(', '))
    report(`${name}: devices a second`, runs.map(({ perSec }) => perSec.toFixed(0)).join(', '))
  }
  const micros = median(sides[0]!.runs.map(run => run.hub + run.database))
  reportGoal(
    'P31',
    'processor time of a new device',
    `${micros.toFixed(0)} us`,
    `<= ${MOST_MICROSECS} us`,
    micros <= MOST_MICROSECS,
  )
  for (const { client } of sides) await client.end()
}

async function connect({ hub, client }: Side, devices: number): Promise<Run> {
  const before = used(hub)
  const { secs } = await client.ask<ConnectRun>({
    connect: { url: hub.url, token: hub.token, count: devices, parallel: PARALLEL },
  })
  const after = used(hub)
  const microsecs = (secs: number): number => (secs / devices) * 1e6
  return {
    perSec: devices / secs,
    hub: microsecs(after.hub - before.hub),
    database: microsecs(after.database - before.database),
  }
}

function used(hub: BenchHub): { hub: number; database: number } {
  const database = treeProcessorSecs(hub.databasePid())
  return { hub: treeProcessorSecs(hub.pid) - database, database }
}

function textOf({ hub, database }: Run): string {
  return `${hub.toFixed(0)} + ${database.toFixed(0)}`
}
