import { newId } from '@muster/actions'
import type { Tx } from '../../../platform/database/client/connection.ts'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import type { Services } from '../../../platform/pipeline/services.ts'
import { metadataText } from '../metadata.ts'

/** Creates a package, unless the repository has a package with this name. Throws `LimitReached` when the repository is full. */
export const repositories_CreatePackage = handler(
  'repositories_CreatePackage',
  async (context, { repositoryId, name, kind, metadata }) => {
    const { tx, events, changed, services } = context
    const packageId = newId('pkg')
    const made = await tx
      .insertInto('package')
      .values({
        package_id: packageId,
        repository_id: repositoryId,
        name,
        kind: kind ?? null,
        metadata: metadataText(context, metadata),
      })
      .onConflict(conflict => conflict.columns(['repository_id', 'name']).doNothing())
      .returning('package_id')
      .executeTakeFirst()
    if (!made) return { result: 'NameAlreadyExists' as const }
    await requireRoomForPackage(tx, services, repositoryId)
    await events.emit('repositories_PackageCreated', { repositoryId, packageId, name })
    changed('packages')
    return { result: 'Created' as const, packageId }
  },
)

/**
 * Throws `LimitReached` when a new package is one too many. It counts after the insert, so that the name of an existing package is
 * answered as such in a full repository too. The lock makes concurrent creations count each other.
 */
async function requireRoomForPackage(tx: Tx, services: Services, repositoryId: string): Promise<void> {
  await tx
    .selectFrom('repository')
    .where('repository_id', '=', repositoryId)
    .select('repository_id')
    .forNoKeyUpdate()
    .executeTakeFirst()
  const { count } = await tx
    .selectFrom('package')
    .where('repository_id', '=', repositoryId)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const remedy = 'Delete packages that are not used any more.'
  requireRoom(services, 'repository-packages', { repositoryId }, count - 1, remedy)
}
