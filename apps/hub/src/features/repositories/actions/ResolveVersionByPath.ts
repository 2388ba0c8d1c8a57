import { handler } from '../../../platform/pipeline/handler.ts'
import { resolvePath } from '../repositories.ts'

/** Finds a version by the path `repository/package/tag`. */
export const repositories_ResolveVersionByPath = handler(
  'repositories_ResolveVersionByPath',
  async ({ db, caller }, path) => {
    const { repositoryId, packageId, versionId } = (await resolvePath(db, caller, path)) ?? {}
    if (!repositoryId || !packageId || !versionId) return { result: 'NotFound' as const }
    return { result: 'Found' as const, repositoryId, packageId, versionId }
  },
)
