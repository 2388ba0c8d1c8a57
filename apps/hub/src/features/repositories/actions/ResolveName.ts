import { handler } from '../../../platform/pipeline/handler.ts'
import { resolvePath } from '../repositories.ts'

/** Finds a repository by slug, id or display name. */
export const repositories_ResolveName = handler('repositories_ResolveName', async ({ db, caller }, path) => {
  const found = await resolvePath(db, caller, path)
  if (!found) return { result: 'NotFound' as const }
  return { result: 'Found' as const, repositoryId: found.repositoryId }
})
