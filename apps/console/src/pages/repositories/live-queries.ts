import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about repositories that live changes affect. */
export const repositoryQueries = {
  repositories_GetDetails: { repositories: 'repositoryId', packages: 'repositoryId' },
  repositories_GetS3Config: { repositories: 'repositoryId' },
  repositories_QueryPackages: { packages: 'repositoryId' },
  repositories_QueryAssets: { packages: 'repositoryId' },
  repositories_GetPackageDetails: { packages: null },
  repositories_QueryPackageVersions: { packages: null },
  repositories_GetVersionDetails: { packages: null },
  repositories_ResolveVersionsByPath: { packages: null },
  repositories_QueryLinkedProjects: { links: 'repositoryId' },
} satisfies LiveQueries<'repositories'>
