import { newId } from '@muster/actions'
import { metadataText } from '../../database/queries/repositories/metadata.ts'
import { handler } from '../../handler.ts'

/** Creates a package, unless the repository has a package with this name. */
export const repositories_CreatePackage = handler(
  'repositories_CreatePackage',
  async ({ tx, events, changed, inputText }, { repositoryId, name, kind, metadata }) => {
    const packageId = newId('pkg')
    const made = await tx
      .insertInto('package')
      .values({
        package_id: packageId,
        repository_id: repositoryId,
        name,
        kind: kind ?? null,
        metadata: metadataText(inputText, metadata),
      })
      .onConflict(conflict => conflict.columns(['repository_id', 'name']).doNothing())
      .returning('package_id')
      .executeTakeFirst()
    if (!made) return { result: 'NameAlreadyExists' as const }
    await events.emit('repositories_PackageCreated', { repositoryId, packageId, name })
    changed('packages')
    return { result: 'Created' as const, packageId }
  },
)
