import { handler } from '../../handler.ts'

export const repositories_SetDisplayName = handler(
  'repositories_SetDisplayName',
  async ({ tx, events, changed }, { repositoryId, displayName }) => {
    await tx
      .updateTable('repository')
      .set({ display_name: displayName })
      .where('repository_id', '=', repositoryId)
      .returning('repository_id')
      .executeTakeFirstOrThrow()
    await events.emit('repositories_DisplayNameChanged', { repositoryId, displayName })
    changed('repositories')
    return {}
  },
)
