import { NewPathName, newId } from '@muster/actions'
import { sql } from 'kysely'
import type { Tx } from '../../../platform/database/client/connection.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { isSlugTaken, lockSlugs } from '../former-names.ts'
import { requireRoomForRepository } from '../repositories.ts'

/**
 * Creates a repository. Older clients send one `name`, which is the display name and, if valid in a path, the slug. Newer clients send
 * a `displayName`, which need not be unique (docs/api.md 4.5).
 */
export const repositories_Create = handler(
  'repositories_Create',
  async (
    { tx, events, changed, services },
    { organizationId, name, displayName = name!, visibility = 'Private' },
  ) => {
    const slug = NewPathName.safeParse(name).data ?? null
    if (name !== undefined && slug === null && (await isDisplayNameTaken(tx, displayName)))
      return { result: 'NameAlreadyExists' as const }
    await lockSlugs(tx, [slug])
    if (slug !== null && (await isSlugTaken(tx, slug))) return { result: 'NameAlreadyExists' as const }
    await requireRoomForRepository(tx, services, organizationId)
    const repositoryId = newId('repo')
    await tx
      .insertInto('repository')
      .values({
        repository_id: repositoryId,
        organization_id: organizationId,
        display_name: displayName,
        slug,
        visibility,
      })
      .execute()
    await events.emit('repositories_Created', { repositoryId, organizationId })
    changed('repositories', { repositoryId })
    return { result: 'Created' as const, repositoryId }
  },
)

/**
 * Returns whether a repository has this display name. An advisory lock serializes the check, because a unique index is not possible:
 * newer clients may reuse a display name.
 */
async function isDisplayNameTaken(tx: Tx, displayName: string): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtext(${`muster.repository ${displayName}`}))`.execute(tx)
  const other = await tx
    .selectFrom('repository')
    .where('display_name', '=', displayName)
    .select('repository_id')
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}
