import { type BenchHub, countEvents, startBenchHub } from './hub-process.ts'
import type { ConnectRun, PublishRun } from './load-client.ts'
import { report, startLoadClient } from './yardsticks.ts'

const DEFAULT_DEVICES = '3000'
const PARALLEL = 64
/** Number of devices that publish events and write a property. */
const BUSY_DEVICES = 200
/** Duration of the load with events, and of the load with property writes, in seconds. */
const BUSY_SECS = 10
/** Default of `MUSTER_EVENT_RETENTION_DAYS`. A device has a row of `device_stored_bytes` for each of these days. */
const RETENTION_DAYS = 90
const READING = { celsius: 21.5, sensor: 'inlet' }

/** Tables with rows of every device. */
const DEVICE_TABLES = [
  'device',
  'device_certificate',
  'device_certificate_change',
  'device_property',
  'device_update',
  'device_address',
  'device_connection',
  'audit_event',
]

/**
 * Measures the bytes on disk that a fleet takes in the database, rows and indexes. docs/scaling.md calculates with these figures. The hub
 * itself writes all rows except those of `device_stored_bytes`. Argument: number of devices.
 */
export async function sizes(deviceCount = DEFAULT_DEVICES): Promise<void> {
  const devices = Number(deviceCount)
  await using hub = await startBenchHub()
  const client = startLoadClient()
  const empty = await databaseBytes(hub)
  const { url, token } = hub
  await client.ask<ConnectRun>({ connect: { url, token, count: devices, parallel: PARALLEL } })
  await client.ask({ setProfiles: true })
  report(
    `${devices} new devices, in all`,
    `${Math.round(((await databaseBytes(hub)) - empty) / devices)} bytes each`,
  )
  for (const table of DEVICE_TABLES) await reportRows(hub, table)

  await hub.query(
    `insert into device_stored_bytes (device_id, day, event_bytes, change_bytes)
     select device_id, current_date - n, 1000, 1000 from device, generate_series(1, ${RETENTION_DAYS}) n`,
  )
  await reportRows(hub, 'device_stored_bytes')

  await reportGrowth(hub, 'device_event', async () => {
    const events = await countEvents(hub)
    const load = { secs: BUSY_SECS, devices: BUSY_DEVICES, window: 20 }
    const { acknowledged } = await client.ask<PublishRun>({ publish: load })
    const stored = (await countEvents(hub)) - events
    if (stored !== acknowledged)
      throw new Error(`${acknowledged} events were acknowledged, ${stored} are stored`)
  })
  const values: [unknown, unknown] = [READING, { ...READING, celsius: 22.5 }]
  await reportGrowth(hub, 'device_property_change', () =>
    client.ask({
      writeProperty: { secs: BUSY_SECS, devices: BUSY_DEVICES, name: 'bench.measured', values },
    }),
  )
  await client.end()
}

async function databaseBytes(hub: BenchHub): Promise<number> {
  const [row] = await hub.query('select pg_database_size(current_database())::float8 as bytes')
  return row!.bytes as number
}

type Size = { rows: number; heapBytes: number; indexBytes: number }
const NOTHING: Size = { rows: 0, heapBytes: 0, indexBytes: 0 }

/** Reports how many bytes an added row of a table takes on average, and how many bytes of write-ahead log (WAL). `load` adds the rows. */
async function reportGrowth(hub: BenchHub, table: string, load: () => Promise<unknown>): Promise<void> {
  const before = await sizeOf(hub, table)
  const walBefore = await walBytes(hub)
  await load()
  const wal = (await walBytes(hub)) - walBefore
  const rows = await reportRows(hub, table, before)
  report('', `${Math.round(wal / rows)} bytes of WAL each`)
}

async function walBytes(hub: BenchHub): Promise<number> {
  const [row] = await hub.query(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes`)
  return row!.bytes as number
}

/** Reports how many bytes a row that was added since `before` takes on average. Resolves to the number of added rows. */
async function reportRows(hub: BenchHub, table: string, before = NOTHING): Promise<number> {
  const after = await sizeOf(hub, table)
  const rows = after.rows - before.rows
  const each = (kind: 'heapBytes' | 'indexBytes') => Math.round((after[kind] - before[kind]) / rows)
  report(table, `${rows} rows, ${each('heapBytes')} bytes each and ${each('indexBytes')} of indexes`)
  return rows
}

/** Rows of a table, and bytes of its rows and of its indexes, partitions included. */
async function sizeOf(hub: BenchHub, table: string): Promise<Size> {
  const [size] = await hub.query(
    `select (select count(*) from ${table})::float8 as rows,
            sum(pg_table_size(oid))::float8 as "heapBytes", sum(pg_indexes_size(oid))::float8 as "indexBytes"
       from (select $1::regclass as oid union select inhrelid from pg_inherits where inhparent = $1::regclass) part`,
    [table],
  )
  return size as Size
}
