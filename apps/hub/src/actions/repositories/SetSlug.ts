import { handler } from '../../handler.ts'

export const repositories_SetSlug = handler(
  'repositories_SetSlug',
  async ({ tx, events, changed }, { repositoryId, slug }) => {
    const other = await tx
      .selectFrom('repository')
      .where('slug', '=', slug)
      .where('repository_id', '<>', repositoryId)
      .select('repository_id')
      .executeTakeFirst()
    if (other) return { result: 'SlugAlreadyExists' as const }
    await tx
      .updateTable('repository')
      .set({ slug })
      .where('repository_id', '=', repositoryId)
      .returning('repository_id')
      .executeTakeFirstOrThrow()
    await events.emit('repositories_PublicNameChanged', { repositoryId, publicName: slug })
    changed('repositories')
    return { result: 'Success' as const }
  },
)
