import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about organizations that live changes affect. */
export const organizationQueries = {
  organizations_Query: { organizations: null },
  organizations_QueryMembers: { members: 'organizationId' },
  organizations_QueryInvitations: { members: 'organizationId' },
  organizations_QueryProjects: { projects: 'organizationId' },
  organizations_QueryRepositories: { repositories: 'organizationId', packages: 'organizationId' },
} satisfies LiveQueries<'organizations'>
