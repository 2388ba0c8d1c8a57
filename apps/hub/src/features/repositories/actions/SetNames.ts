import { MAX_PATH_NAME_LENGTH } from '@muster/actions'
import { handler } from '../../../platform/pipeline/handler.ts'
import { changeDisplayName, changeSlug, freeSlugs, lockNames } from '../names.ts'

/** Changes display name and slug of a repository. If the slug is taken, nothing changes. An unchanged name writes no event. */
export const repositories_SetNames = handler(
  'repositories_SetNames',
  async (context, { repositoryId, displayName, slug }) => {
    const before = await lockNames(context.tx, repositoryId)
    if (slug !== undefined && slug !== before.slug) {
      if (!(await changeSlug(context, repositoryId, before.slug, slug)))
        return {
          result: 'SlugAlreadyExists' as const,
          free: await freeSlugs(context.tx, slug, MAX_PATH_NAME_LENGTH),
        }
    }
    if (displayName !== before.displayName)
      await changeDisplayName(context, repositoryId, before.displayName, displayName)
    return { result: 'Success' as const }
  },
)
