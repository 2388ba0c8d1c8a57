import { NAME_KEYS, nameKey } from '@muster/predicates/name-key'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'

/** Condition that a device `d` has no key, or one of another version of the order. Two ranges of the index `device_by_name_key`. */
const HAS_NO_KEY: readonly RawBuilder<boolean>[] = [
  sql`d.name_key < ${sql.lit(NAME_KEYS.from)}`,
  sql`d.name_key >= ${sql.lit(NAME_KEYS.below)}`,
]

/** Whether all devices of a project have the key by which lists sort names. Reads two entries of an index. */
export async function hasAllNameKeys(db: Db, projectId: string): Promise<boolean> {
  const without = HAS_NO_KEY.map(
    condition => sql`exists (select from device d where d.project_id = ${projectId} and ${condition})`,
  )
  const { rows } = await sql<{ hasAll: boolean }>`
    select not (${sql.join(without, sql` or `)}) as "hasAll"`.execute(db)
  return rows[0]!.hasAll
}

/**
 * Makes the missing keys of the next `count` devices after `deviceId`, in the order of their ids. Resolves to the last of these devices, or
 * to undefined when none is left.
 */
export async function fillNameKeys(db: Db, deviceId: string, count: number): Promise<string | undefined> {
  const { rows: devices } = await sql<{ device_id: string; shown: string; is_missing: boolean }>`
    select d.device_id, coalesce(d.name, d.hostname, '') as shown, ${sql.join(HAS_NO_KEY, sql` or `)} as is_missing
      from device d where d.device_id > ${deviceId} order by d.device_id limit ${count}`.execute(db)
  const missing = devices
    .filter(device => device.is_missing)
    .map(device => ({ deviceId: device.device_id, shown: device.shown, key: nameKey(device.shown) }))
  const made = new Set(await writeKeys(db, missing, sql`skip locked`))
  // A device whose row another transaction had locked is written alone: waiting while holding locks could deadlock.
  for (const device of missing) if (!made.has(device.deviceId)) await writeKeys(db, [device], sql``)
  return devices.at(-1)?.device_id
}

type NamedDevice = { deviceId: string; shown: string; key: string }

/**
 * Writes keys, and resolves to the ids of the devices that have got one. A device that was renamed since its name was read is skipped:
 * its key was written with the name, or is made by the next run.
 */
async function writeKeys(
  db: Db,
  devices: readonly NamedDevice[],
  wait: RawBuilder<unknown>,
): Promise<string[]> {
  if (devices.length === 0) return []
  const column = (name: keyof NamedDevice) => sql`${devices.map(device => device[name])}::text[]`
  const { rows } = await sql<{ device_id: string }>`
    with unchanged as (
      select d.device_id, i.name_key
        from unnest(${column('deviceId')}, ${column('shown')}, ${column('key')}) as i (device_id, shown, name_key)
        join device d on d.device_id = i.device_id and coalesce(d.name, d.hostname, '') = i.shown
         for no key update of d ${wait}
    )
    update device d set name_key = u.name_key from unchanged u where d.device_id = u.device_id
    returning d.device_id`.execute(db)
  return rows.map(row => row.device_id)
}
