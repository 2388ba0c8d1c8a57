import { handler } from '../../../platform/pipeline/handler.ts'
import { addTags, lockTags } from '../repository-tags.ts'

/** Adds tags to a version. Either all tags are added or none. */
export const repositories_TagVersion = handler(
  'repositories_TagVersion',
  async (context, { versionId, tags }) => {
    const packageId = context.scope.packageId!
    await lockTags(context.tx, packageId)
    await addTags(context, packageId, versionId, tags)
    context.changed('packages')
    return {}
  },
)
