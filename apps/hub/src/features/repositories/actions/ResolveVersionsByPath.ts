import { handler } from '../../../platform/pipeline/handler.ts'
import { resolvePath } from '../repositories.ts'
import { filesOf } from '../repository-files.ts'

/** Finds versions by paths `repository/package/tag`, with the files of those that ask for them. */
export const repositories_ResolveVersionsByPath = handler(
  'repositories_ResolveVersionsByPath',
  async ({ db, caller }, { paths }) => ({
    versions: await Promise.all(
      paths.map(async ({ withFiles = false, ...path }) => {
        const { repositoryId, packageId, versionId } = (await resolvePath(db, caller, path)) ?? {}
        if (!repositoryId || !packageId || !versionId) return { result: 'NotFound' as const }
        const files = withFiles ? await filesOf(db, { of: 'version', id: versionId }, {}) : undefined
        return { result: 'Found' as const, repositoryId, packageId, versionId, files }
      }),
    ),
  }),
)
