import { newId } from '@muster/actions'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { metadataText } from '../metadata.ts'
import { addTags, lockTags } from '../repository-tags.ts'

/** Creates a version of a package and tags it in the same transaction. Throws `LimitReached` when the package is full. */
export const repositories_CreateVersion = handler(
  'repositories_CreateVersion',
  async (context, { packageId, tags = [], name, metadata }) => {
    const { tx, scope, events, changed, services } = context
    const versionId = newId('pkg_v')
    await lockTags(tx, packageId)
    const { count } = await tx
      .selectFrom('package_version')
      .where('package_id', '=', packageId)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    const remedy = 'Delete versions that are not used any more.'
    requireRoom(services, 'package-versions', { packageId }, count, remedy)
    await tx
      .insertInto('package_version')
      .values({
        version_id: versionId,
        package_id: packageId,
        name: name ?? null,
        metadata: metadataText(context, metadata),
      })
      .execute()
    await events.emit('repositories_PackageVersionCreated', {
      repositoryId: scope.repositoryId!,
      packageId,
      versionId,
    })
    await addTags(context, packageId, versionId, tags)
    changed('packages')
    return { result: 'Created' as const, versionId }
  },
)
