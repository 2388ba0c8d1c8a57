import { setTimeout as pause } from 'node:timers/promises'
import { connectDevice } from '@muster/testkit/device'
import { ask, forked, median } from './child.ts'
import type { HostileKind, HostileLoad, HostileRun } from './hostile-client.ts'
import { signIn, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { report, reportGoal, startLoadClient } from './yardsticks.ts'

const ROUNDS = 3
const SECS = 6
const DEVICES = 100
const EVENTS_PER_SEC = 500
/**
 * Head start of the hostile device, in seconds. In this time the device uses up the bursts that the hub's limits allow, so that
 * the steady state is measured.
 */
const HEAD_START_SECS = 3
/** Length in characters of a large value that a normal device sets. The hub has to assemble the value from several frames. */
const NORMAL_LARGE_VALUE = 128 * 1024

const KINDS: HostileKind[] = [
  'rewrites a value of 1 MiB',
  'sets ever more properties',
  'publishes events of 60 KiB',
  'publishes single events without a pause',
  'shows ever new fingerprints',
  'opens unregistered links',
  'sends halves of large inputs',
]

/**
 * Runs one hostile device of each kind beside 100 normal devices and measures its effect on them. The p99 of their
 * acknowledgements may be at most twice the p99 without the hostile device, and none of their events may be refused. During
 * each measurement another normal device writes a large value, and users sign in.
 */
export async function hostileDevice(): Promise<void> {
  await using hub = await startBenchHub({ MUSTER_LOG_LEVEL: 'error' })
  const devices = startLoadClient()
  await devices.ask({ connect: { url: hub.url, token: hub.token, count: DEVICES, parallel: 16 } })
  await using normal = await connectDevice({ url: hub.url, token: hub.token })
  const { child: client } = await forked('hostile-client.ts')
  const schedule = { schedule: { secs: SECS, devices: DEVICES, perSec: EVENTS_PER_SEC } }
  await devices.ask<PublishRun>(schedule)

  const alone: number[] = []
  const beside = new Map(KINDS.map(kind => [kind, [] as number[]]))
  const runs = new Map<HostileKind, HostileRun>()
  const noticed = new Map(KINDS.map(kind => [kind, [] as string[]]))
  const signInMs = new Map(KINDS.map(kind => [kind, [] as number[]]))
  const databaseBytes = async (): Promise<number> =>
    Number((await hub.query('select pg_database_size(current_database()) as bytes'))[0]!.bytes)
  const grown = new Map<HostileKind, number>()
  for (let round = 0; round < ROUNDS; round++) {
    alone.push((await devices.ask<PublishRun>(schedule)).p99Ms)
    for (const kind of KINDS) {
      const load: HostileLoad = { kind, url: hub.url, token: hub.token, secs: HEAD_START_SECS + SECS }
      const before = await databaseBytes()
      const hostile = ask<HostileRun>(client, load)
      await pause(HEAD_START_SECS * 1000)
      const note = (what: string) => (error: unknown) =>
        void noticed.get(kind)!.push(`${what}: ${String(error)}`)
      const started = performance.now()
      await Promise.all([
        devices.ask<PublishRun>(schedule).then(run => beside.get(kind)!.push(run.p99Ms), note('events')),
        signIn(hub).then(() => signInMs.get(kind)!.push(performance.now() - started), note('sign-in')),
        normal
          .invoke('devices_SetProperty', {
            deviceId: normal.deviceId,
            name: 'large',
            value: 'x'.repeat(NORMAL_LARGE_VALUE),
          })
          .catch(note('a large value')),
      ])
      runs.set(kind, await hostile)
      grown.set(kind, (grown.get(kind) ?? 0) + (await databaseBytes()) - before)
    }
  }

  report('100 normal devices alone', `p99 ${median(alone).toFixed(1)} ms`)
  for (const kind of KINDS) {
    const { accepted, refused, acceptedBytes, refusal } = runs.get(kind)!
    const p99Ms = median(beside.get(kind)!)
    const ratio = p99Ms / median(alone)
    const complaints = noticed.get(kind)!
    report(`a device that ${kind}`, `${accepted} accepted (${mib(acceptedBytes)}), ${refused} refused`)
    if (refusal) report('', refusal)
    report(
      '',
      `database +${mib(grown.get(kind)!)} in ${ROUNDS} runs, sign-in ${Math.max(...signInMs.get(kind)!).toFixed(0)} ms`,
    )
    for (const complaint of complaints) report('', complaint)
    const figure = `p99 ${p99Ms.toFixed(1)} ms, x${ratio.toFixed(2)}, ${complaints.length} refused`
    reportGoal(
      '',
      'normal devices during the attack',
      figure,
      '<= x2.00, 0 refused',
      ratio <= 2 && complaints.length === 0,
    )
  }

  client.disconnect()
  await devices.end()
}

function mib(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
