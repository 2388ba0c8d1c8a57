import { sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import { isSlugTaken, keepFormerName, lockSlugs } from './former-names.ts'

type Work = Pick<CommandTransaction, 'tx' | 'events' | 'changed'>

/** Number of free slugs that are suggested when the wanted slug is taken. */
const SUGGESTED = 2
/** Number of slugs that are tried for a suggestion. */
const TRIED = 20

/** Locks a repository until the end of the transaction and returns its names. */
export async function lockNames(tx: Tx, repositoryId: string) {
  return tx
    .selectFrom('repository')
    .where('repository_id', '=', repositoryId)
    .select(['display_name as displayName', 'slug'])
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

/**
 * Changes the slug of a repository that `lockNames` has locked. The former slug still finds the repository, and no other repository can
 * take it. Resolves to false, without a change, if another repository has or had the new slug.
 */
export async function changeSlug(
  { tx, events, changed }: Work,
  repositoryId: string,
  from: string | null,
  slug: string,
): Promise<boolean> {
  await lockSlugs(tx, [from, slug])
  if (await isSlugTaken(tx, slug, repositoryId)) return false
  await tx.updateTable('repository').set({ slug }).where('repository_id', '=', repositoryId).execute()
  await keepFormerName(tx, repositoryId, { from, to: slug, isSlug: true })
  await events.emit(
    'repositories_PublicNameChanged',
    { repositoryId, publicName: slug },
    { old: { publicName: from ?? undefined } },
  )
  changed('repositories')
  return true
}

/** Changes the display name of a repository that `lockNames` has locked. The former display name still finds the repository. */
export async function changeDisplayName(
  { tx, events, changed }: Work,
  repositoryId: string,
  from: string,
  displayName: string,
): Promise<void> {
  await tx
    .updateTable('repository')
    .set({ display_name: displayName })
    .where('repository_id', '=', repositoryId)
    .execute()
  await keepFormerName(tx, repositoryId, { from, to: displayName, isSlug: false })
  await events.emit(
    'repositories_DisplayNameChanged',
    { repositoryId, displayName },
    { old: { displayName: from } },
  )
  changed('repositories')
}

/** Free slugs that are made from a taken slug by adding a number. */
export async function freeSlugs(tx: Tx, taken: string, maxLength: number): Promise<string[]> {
  const stem = taken.slice(0, maxLength - String(TRIED + 1).length - 1)
  const tried = Array.from({ length: TRIED }, (_, index) => `${stem}-${index + 2}`)
  const { rows } = await sql<{ slug: string }>`
    select slug from unnest(${tried}::text[]) with ordinality as t (slug, place)
     where not exists (select from repository r where r.slug = t.slug)
       and not exists (select from repository_former_name f where f.name = t.slug and f.is_slug)
     order by place limit ${SUGGESTED}`.execute(tx)
  return rows.map(({ slug }) => slug)
}
