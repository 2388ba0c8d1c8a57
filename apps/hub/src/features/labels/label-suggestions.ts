import { sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import { partPattern } from '../../platform/database/client/page.ts'

type Options = { text: string | undefined; limit: number }

/** Keys of the labels in a project, most frequent first. `all` is the number of all keys that contain the text. */
export async function suggestKeys(
  tx: Tx,
  projectId: string,
  { text, limit }: Options,
): Promise<{ key: string; devices: number; values: number; all: number }[]> {
  const { rows } = await sql<{ key: string; devices: number; values: number; all: number }>`
    select key, sum(devices)::int as devices, count(*)::int as values, (count(*) over ())::int as all
      from (
        select key, value, count(*) as devices from device_label
         where project_id = ${projectId} and ${text ? sql`key like lower(${partPattern(text)})` : sql`true`}
         group by key, value
      ) v
     group by key order by devices desc, key limit ${limit}`.execute(tx)
  return rows
}

/** Values of a label in a project, most frequent first. `all` is the number of all values that contain the text. */
export async function suggestValues(
  tx: Tx,
  projectId: string,
  key: string,
  { text, limit }: Options,
): Promise<{ value: string; devices: number; all: number }[]> {
  const { rows } = await sql<{ value: string; devices: number; all: number }>`
    select value, count(*)::int as devices, (count(*) over ())::int as all
      from device_label
     where project_id = ${projectId} and key = ${key}
       and ${text ? sql`lower(value) like lower(${partPattern(text)})` : sql`true`}
     group by value order by devices desc, value limit ${limit}`.execute(tx)
  return rows
}
