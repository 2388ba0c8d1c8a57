import { handler } from '../../../platform/pipeline/handler.ts'
import { changeSlug, lockNames } from '../names.ts'

/** Sets the slug of a repository. The former slug still finds the repository, and no other repository can take it. */
export const repositories_SetSlug = handler(
  'repositories_SetSlug',
  async (context, { repositoryId, slug }) => {
    const { slug: from } = await lockNames(context.tx, repositoryId)
    return (await changeSlug(context, repositoryId, from, slug))
      ? { result: 'Success' as const }
      : { result: 'SlugAlreadyExists' as const }
  },
)
