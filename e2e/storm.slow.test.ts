import { until } from '@muster/testkit/until'
import { expect, it } from 'vitest'
import { databaseOf, firstToken, newFolder, startedHub } from './hub-child.ts'
import { StormDevice } from './storm-device.ts'

const DEVICES = 300
const REPORTING = 20

it('a fleet reconnects after its hub was killed, without refused or duplicate devices or lost events', async () => {
  await using folder = await newFolder()
  const hub = await startedHub({ dataDir: `${folder.path}/data` })
  const token = firstToken(hub)
  await using stack = new AsyncDisposableStack()
  const fleet: StormDevice[] = []
  const connectSome = async (): Promise<void> => {
    while (fleet.length < DEVICES) fleet.push(stack.use(await StormDevice.connect(hub.url, token)))
  }
  await Promise.all(Array.from({ length: 8 }, connectSome))
  const reporting = fleet.slice(0, REPORTING)
  const reports = Promise.all(reporting.map(device => device.report()))
  reports.catch(() => {})
  await until('events are acknowledged', () => reporting.every(({ acknowledged }) => acknowledged.length > 5))

  hub.kill('SIGKILL')
  await hub.exited
  const back = Promise.all(fleet.map(device => device.reconnect()))
  back.catch(() => {})
  await using again = await startedHub({ dataDir: hub.dataDir, port: hub.port })
  await back
  expect(fleet.every(device => device.isConnected)).toBe(true)
  expect(fleet.reduce((sum, { refusals }) => sum + refusals, 0)).toBe(0)
  const before = reporting.map(({ acknowledged }) => acknowledged.length)
  await until('events are acknowledged again', () =>
    reporting.every(({ acknowledged }, at) => acknowledged.length > before[at]!),
  )
  for (const device of reporting) device.stop()
  await reports

  await using database = await databaseOf(again.dataDir)
  const { rows } = await database.query<Record<string, number>>(
    `select (select count(*)::int from device) as devices,
            (select count(*)::int from device where is_connected) as shown,
            (select count(*)::int from device_connection where ended_at is null) as open,
            (select count(distinct device_id)::int from device_connection where ended_at is null) as different`,
  )
  expect(rows).toEqual([
    { devices: fleet.length, shown: fleet.length, open: fleet.length, different: fleet.length },
  ])
  const events = await database.query<{ event_id: string }>('select event_id from device_event')
  const stored = new Set(events.rows.map(row => row.event_id))
  const acknowledged = reporting.flatMap(device => device.acknowledged)
  expect(acknowledged.filter(eventId => !stored.has(eventId))).toEqual([])
  expect(stored.size).toBe(events.rows.length)
  expect(stored.size).toBe(acknowledged.length)
}, 180_000)
