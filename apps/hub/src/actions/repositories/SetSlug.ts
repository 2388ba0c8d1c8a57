import { isSlugTaken, keepFormerName, lockSlugs } from '../../database/queries/repositories/former-names.ts'
import { handler } from '../../handler.ts'

/** Sets the slug of a repository. The former slug stays reserved for the repository and still resolves to it. */
export const repositories_SetSlug = handler(
  'repositories_SetSlug',
  async ({ tx, events, changed }, { repositoryId, slug }) => {
    const { slug: from } = await tx
      .selectFrom('repository')
      .where('repository_id', '=', repositoryId)
      .select('slug')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await lockSlugs(tx, [from, slug])
    if (await isSlugTaken(tx, slug, repositoryId)) return { result: 'SlugAlreadyExists' as const }
    await tx.updateTable('repository').set({ slug }).where('repository_id', '=', repositoryId).execute()
    await keepFormerName(tx, repositoryId, { from, to: slug, isSlug: true })
    await events.emit(
      'repositories_PublicNameChanged',
      { repositoryId, publicName: slug },
      { old: { publicName: from ?? undefined } },
    )
    changed('repositories')
    return { result: 'Success' as const }
  },
)
