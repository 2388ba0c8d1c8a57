import { handler } from '../../../platform/pipeline/handler.ts'
import { lockTags, removeTags } from '../repository-tags.ts'

/** Removes tags from a version. Either all tags are removed or none. */
export const repositories_UntagVersion = handler(
  'repositories_UntagVersion',
  async (context, { versionId, tags }) => {
    const packageId = context.scope.packageId!
    await lockTags(context.tx, packageId)
    await removeTags(
      context,
      packageId,
      versionId,
      tags.map(({ tag }) => tag),
    )
    context.changed('packages')
    return {}
  },
)
