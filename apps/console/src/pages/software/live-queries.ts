import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about software that live changes affect. */
export const softwareQueries = {
  repositories_GetVersionUsage: { packages: null, links: null, devices: null },
  repositories_QueryPackageUsage: { packages: 'repositoryId' },
  projects_GetSoftware: { packages: null, links: 'projectId', devices: 'projectId' },
} satisfies LiveQueries<'software'>
