import { NAME_KEYS, nameKey } from '@muster/predicates/name-key'
import { sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import type { SortKey } from '../../platform/database/client/page.ts'

/**
 * Natural order of the names of projects `p`, as of devices. A project that has no key yet, because an older version of the hub has named it,
 * stands where a key of its name would begin.
 */
export const BY_PROJECT_NAME = {
  by: sql`(case when p.name_key = '' then ${NAME_KEYS.from}::text || lower(p.name) else p.name_key end) collate "C"`,
  type: 'text',
} as const satisfies SortKey

/** Makes the missing keys of names. Projects are few, so one statement reads them. */
export async function fillProjectNameKeys(db: Db): Promise<void> {
  const projects = await db
    .selectFrom('project')
    .where(({ eb, or }) => or([eb('name_key', '<', NAME_KEYS.from), eb('name_key', '>=', NAME_KEYS.below)]))
    .select(['project_id', 'name'])
    .execute()
  for (const { project_id: projectId, name } of projects)
    await db
      .updateTable('project')
      .set({ name_key: nameKey(name) })
      .where('project_id', '=', projectId)
      // A project that was renamed meanwhile has the key of its new name.
      .where('name', '=', name)
      .execute()
}
