// Yardstick for storing events: inserts rows into the hub's event table with the hub's driver and many rows per statement. Forked
// by a bench. The argument is the options of the database connection as JSON.
import pg from 'pg'
import { answering } from './child.ts'
import { EVENT_BODY, eventStamp, eventSuffix } from './lean-device.ts'

export type RowLoad = {
  secs: number
  deviceIds: string[]
  batch: number
  connections: number
  /**
   * Number of the first event, below 2^32 as `eventSuffix` requires. It is above the numbers that the bench's devices use, so
   * that no event id is used twice.
   */
  first: number
}
export type RowRun = { rows: number; secs: number; writerSecs: number }

// The hub's insert statement without its handling of resent events and deleted devices.
const INSERT = {
  name: 'insert-events',
  text: `
    insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
    select * from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::text[], $6::json[], $7::json[], $8::timestamptz[])`,
}
const connection = JSON.parse(process.argv[2]!) as pg.ClientConfig
const body = JSON.stringify(EVENT_BODY)

answering<RowLoad>(async ({ secs, deviceIds, batch, connections, first }): Promise<RowRun> => {
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = new pg.Client(connection)
      await client.connect()
      return client
    }),
  )
  let rows = 0
  const cpu = process.cpuUsage()
  const started = performance.now()
  const end = started + secs * 1000
  await Promise.all(
    clients.map(async client => {
      while (performance.now() < end) {
        const from = first + rows
        rows += batch
        await client.query({ ...INSERT, values: columns(deviceIds, from, batch) })
      }
    }),
  )
  const used = process.cpuUsage(cpu)
  const result = {
    rows,
    secs: (performance.now() - started) / 1000,
    writerSecs: (used.user + used.system) / 1e6,
  }
  await Promise.all(clients.map(client => client.end()))
  return result
})

function columns(deviceIds: string[], from: number, batch: number): unknown[][] {
  const now = new Date()
  const iso = now.toISOString()
  const stamp = eventStamp(now)
  const all: unknown[][] = Array.from({ length: 8 }, () => [])
  for (let number = from; number < from + batch; number++) {
    const row = [
      deviceIds[number % deviceIds.length],
      stamp + eventSuffix(number),
      iso.slice(0, 10),
      'Info',
      'bench',
      body,
      '{}',
      iso,
    ]
    for (const [column, value] of row.entries()) all[column]!.push(value)
  }
  return all
}
