import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@muster/testkit/free-port'
import { until } from '@muster/testkit/until'
import { expect, it } from 'vitest'
import { crashingDisk } from './crashing-disk.ts'
import { databaseOf, descendantsOf, firstToken, signalNow, startedHub } from './hub-child.ts'
import { StormDevice } from './storm-device.ts'

const DEVICES = 8
const LOSSES = 4
/** Longest time between the first acknowledged events after a start and the next power loss, in milliseconds. */
const MAX_WAIT_MS = 1_500

it('goal R4: power losses while devices publish lose no acknowledged event and double none', {
  timeout: 240_000,
}, async context => {
  await using disk = await crashingDisk()
  if (!disk) return context.skip('needs root, perl, mkfs.ext4 and loop devices')
  await using stack = new AsyncDisposableStack()
  const dataDir = join(disk.path, 'data')
  await mkdir(dataDir)
  const port = await freePort()
  let hub = await startedHub({ dataDir, port })
  stack.defer(() => hub[Symbol.asyncDispose]())
  const token = firstToken(hub)
  const fleet: StormDevice[] = []
  for (let n = 0; n < DEVICES; n++) fleet.push(stack.use(await StormDevice.connect(hub.url, token)))
  const reports = Promise.all(fleet.map(device => device.report()))
  reports.catch(() => {})
  for (const device of fleet) void device.stay()
  const publishing = async (): Promise<void> => {
    const counts = fleet.map(({ acknowledged }) => acknowledged.length)
    await until(
      'all devices publish',
      () => fleet.every(({ acknowledged }, at) => acknowledged.length > counts[at]!),
      60_000,
    )
  }

  const isLost: boolean[] = []
  for (let n = 0; n < LOSSES; n++) {
    await publishing()
    await sleep(Math.random() * MAX_WAIT_MS)
    const processes = [hub.pid, ...descendantsOf(hub.pid)]
    const unsafe = join(disk.path, `not-synchronised-${n}`)
    await writeFile(unsafe, 'x')
    disk.losePower()
    for (const pid of processes) signalNow(pid, 'SIGKILL')
    await hub.exited
    await disk.restart()
    isLost.push(!existsSync(unsafe))
    hub = await startedHub({ dataDir, port })
  }
  // The disk does lose what was not synchronised. The database may have made a file durable with its own writes.
  expect(isLost).toContain(true)
  await publishing()
  for (const device of fleet) device.stop()
  await reports

  const acknowledged = fleet.flatMap(device => device.acknowledged)
  await using database = await databaseOf(dataDir)
  const { rows } = await database.query<{ event_id: string }>(
    'select event_id from device_event where device_id = any($1)',
    [fleet.map(({ deviceId }) => deviceId)],
  )
  const stored = new Set(rows.map(({ event_id }) => event_id))
  process.stdout.write(
    `${LOSSES} power losses: ${acknowledged.length} events acknowledged, ${stored.size} stored\n`,
  )
  expect(acknowledged.filter(eventId => !stored.has(eventId))).toEqual([])
  expect(stored.size).toBe(rows.length)
})
