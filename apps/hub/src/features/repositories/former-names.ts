import { sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'

/** Maximum number of former names under which a repository is still found. The oldest names are forgotten. */
const MAX_FORMER_NAMES = 5

/**
 * Locks slugs until the end of the transaction. Every transaction that takes or gives up a slug must lock it, so that no other
 * repository can take the slug while it becomes a former name.
 */
export async function lockSlugs(tx: Tx, slugs: readonly (string | null)[]): Promise<void> {
  const names = slugs.filter(slug => slug !== null).toSorted()
  for (const name of new Set(names))
    await sql`select pg_advisory_xact_lock(hashtext(${`muster.slug ${name}`}))`.execute(tx)
}

/** Whether another repository has this slug, or has it among its former names. The slug must be locked. */
export async function isSlugTaken(tx: Tx, slug: string, exceptRepositoryId = ''): Promise<boolean> {
  const { rows } = await sql`
    select from repository where slug = ${slug} and repository_id <> ${exceptRepositoryId}
    union all
    select from repository_former_name
     where name = ${slug} and is_slug and repository_id <> ${exceptRepositoryId}`.execute(tx)
  return rows.length > 0
}

/**
 * Records a change of a repository's name. Only the last `MAX_FORMER_NAMES` former names are kept. A name that the repository
 * takes again is no longer a former name.
 */
export async function keepFormerName(
  tx: Tx,
  repositoryId: string,
  change: { from: string | null; to: string; isSlug: boolean },
): Promise<void> {
  const { from, to, isSlug } = change
  if (from === to) return
  const names = tx.deleteFrom('repository_former_name').where('repository_id', '=', repositoryId)
  await names.where('name', '=', to).where('is_slug', '=', isSlug).execute()
  if (from === null) return
  await tx
    .insertInto('repository_former_name')
    .values({
      repository_id: repositoryId,
      name: from,
      is_slug: isSlug,
      given_up_at: sql`clock_timestamp()` as never,
    })
    .onConflict(conflict =>
      conflict.columns(['repository_id', 'name']).doUpdateSet(({ ref }) => ({
        is_slug: sql<boolean>`repository_former_name.is_slug or excluded.is_slug`,
        given_up_at: ref('excluded.given_up_at'),
      })),
    )
    .execute()
  await names
    .where('name', 'not in', ({ selectFrom }) =>
      selectFrom('repository_former_name')
        .where('repository_id', '=', repositoryId)
        .select('name')
        .orderBy('given_up_at', 'desc')
        .limit(MAX_FORMER_NAMES),
    )
    .execute()
}
