import { handler } from '../../../platform/pipeline/handler.ts'
import { changeDisplayName, lockNames } from '../names.ts'

/**
 * Sets the display name of a repository. Without `displayName`, the slug becomes the display name, or the id if there is no slug.
 */
export const repositories_SetDisplayName = handler(
  'repositories_SetDisplayName',
  async (context, { repositoryId, displayName }) => {
    const { displayName: from, slug } = await lockNames(context.tx, repositoryId)
    await changeDisplayName(context, repositoryId, from, displayName ?? slug ?? repositoryId)
    return {}
  },
)
