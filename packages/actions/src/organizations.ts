import { z } from 'zod'
import { command, listInput, listOutput, optional, optionalText, query } from './define.ts'
import { OrganizationId, ProjectId, UserId } from './ids.ts'
import { Empty, Name, text } from './scalars.ts'

const TextFilter = z.object({ text: optionalText(text(256)).describe('Part of a name or id.') })

/** Actions on organizations (catalogue 2.4 and 3.3). */
export const organizations = {
  organizations_Query: query({
    summary: 'Organizations of the instance for its administrators, else those of the caller, by name.',
    input: z.object(listInput(['name'], TextFilter)),
    output: z.object({
      organizations: z.array(z.object({ organizationId: OrganizationId, name: z.string() })),
      ...listOutput,
    }),
    permission: 'user',
  }),
  organizations_Create: command({
    summary: 'Creates an organization; without `admins` the caller becomes its administrator.',
    input: z.object({
      name: Name,
      admins: optional(z.array(UserId).max(100)),
      requiresSubscription: optional(z.boolean()),
    }),
    output: z.object({ organizationId: OrganizationId }),
    permission: 'user',
    audit: ['name', 'admins'],
  }),
  organizations_Delete: command({
    summary: 'Deletes an organization with everything in it and disconnects its devices.',
    input: z.object({ organizationId: OrganizationId }),
    output: Empty,
    permission: { can: 'delete', on: 'organization', id: 'organizationId' },
    audit: ['organizationId'],
  }),
  organizations_QueryProjects: query({
    summary: 'Projects of an organization, by name.',
    input: z.object({ organizationId: OrganizationId, ...listInput(['name', 'createdAt'], TextFilter) }),
    output: z.object({
      projects: z.array(z.object({ projectId: ProjectId, name: z.string() })),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
}
