import type { Json } from '@muster/predicates'
import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { namedValue } from '../devices/index.ts'

/** Values of a device by the names that expressions use. A name that the device lacks is absent. */
export type DeviceValues = ReadonlyMap<string, Json>

const NONE: DeviceValues = new Map()

/** Reads values of devices for expressions, as predicates of lists read them. Devices that need the same names share a statement. */
export async function readValues(
  db: Db,
  wanted: ReadonlyMap<string, ReadonlySet<string>>,
  now: Date,
): Promise<(deviceId: string) => DeviceValues> {
  const found = new Map<string, DeviceValues>()
  const groups = Map.groupBy(
    [...wanted].filter(([, names]) => names.size > 0),
    ([, names]) => [...names].toSorted().join(' '),
  )
  for (const group of groups.values()) {
    const names = [...group[0]![1]]
    const columns = names.map(name => sql`(${namedValue(name, now)})::text`)
    const { rows } = await sql<{ device_id: string; texts: (string | null)[] }>`
      select d.device_id, array[${sql.join(columns)}] as texts from device d
       where d.device_id = any (${group.map(([deviceId]) => deviceId)}::text[])`.execute(db)
    for (const { device_id, texts } of rows)
      found.set(
        device_id,
        new Map(
          texts.flatMap((text, at) =>
            text === null ? [] : [[names[at]!, JSON.parse(text) as Json] as const],
          ),
        ),
      )
  }
  return deviceId => found.get(deviceId) ?? NONE
}
