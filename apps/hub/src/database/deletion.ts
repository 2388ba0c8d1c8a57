import { type RawBuilder, sql } from 'kysely'
import type { Tx } from './connection.ts'

/**
 * Deletes devices with their whole history. Events and property changes carry no foreign key, which would cost every insert a
 * look-up, so they are deleted here; everything else follows by cascade.
 */
export async function deleteDevices(tx: Tx, which: RawBuilder<boolean>): Promise<void> {
  await sql`delete from device_event where device_id in (select device_id from device where ${which})`.execute(
    tx,
  )
  await sql`delete from device_property_change where device_id in (select device_id from device where ${which})`.execute(
    tx,
  )
  await sql`delete from device where ${which}`.execute(tx)
}
