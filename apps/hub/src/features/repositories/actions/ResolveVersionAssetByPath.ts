import { handler } from '../../../platform/pipeline/handler.ts'
import { resolvePath } from '../repositories.ts'

/** Finds a file by the path `repository/package/tag/filename`. */
export const repositories_ResolveVersionAssetByPath = handler(
  'repositories_ResolveVersionAssetByPath',
  async ({ db, caller }, path) => {
    const { repositoryId, packageId, versionId, assetId } = (await resolvePath(db, caller, path)) ?? {}
    if (!repositoryId || !packageId || !versionId || !assetId) return { result: 'NotFound' as const }
    return { result: 'Found' as const, repositoryId, packageId, versionId, assetId }
  },
)
