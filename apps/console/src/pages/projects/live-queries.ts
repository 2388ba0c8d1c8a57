import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about projects that live changes affect. */
export const projectQueries = {
  projects_GetDetails: { projects: 'projectId', devices: 'projectId' },
  projects_GetPins: { projects: 'projectId' },
  projects_QueryDeploymentTokens: { tokens: 'projectId' },
  projects_GetSummary: { devices: 'projectId', certificates: 'projectId', connections: 'projectId' },
  projects_QueryLinkedRepositories: { repositories: null, links: 'projectId' },
} satisfies LiveQueries<'projects'>
