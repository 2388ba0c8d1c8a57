import { handler } from '../../../platform/pipeline/handler.ts'
import { resolvePath } from '../repositories.ts'

/** Finds a package by the path `repository/package`. */
export const repositories_ResolvePackageByPath = handler(
  'repositories_ResolvePackageByPath',
  async ({ db, caller }, path) => {
    const { repositoryId, packageId } = (await resolvePath(db, caller, path)) ?? {}
    if (!repositoryId || !packageId) return { result: 'NotFound' as const }
    return { result: 'Found' as const, repositoryId, packageId }
  },
)
