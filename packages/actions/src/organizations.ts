import { z } from 'zod'
import { command, listInput, listOutput, optional, query, TextFilter } from './define.ts'
import { DeviceMatch } from './device-filters.ts'
import { DeviceId, OrganizationId, OrganizationInvitationId, ProjectId, RepositoryId, UserId } from './ids.ts'
import { MAX_FILTER_LENGTH } from './limits.ts'
import { RepositoryVisibility, repositoryNames } from './repositories.ts'
import { Email, Empty, Name, Timestamp, text, U32 } from './scalars.ts'

const asMember = { can: 'view', on: 'organization', id: 'organizationId' } as const
const asAdministrator = { can: 'administer', on: 'organization', id: 'organizationId' } as const

/** Actions on organizations (docs/api.md 2.4 and 3.3). */
export const organizations = {
  organizations_Query: query({
    summary: 'Organizations of the instance for its administrators, else those of the caller, by name.',
    cost: 'scan if filtered',
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
    isCreation: true,
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
    cost: 'scan if filtered',
    input: z.object({
      organizationId: OrganizationId,
      ...listInput(
        ['name', 'createdAt', 'problems', 'devices'],
        TextFilter.extend({
          state: optional(z.enum(['connected', 'disconnected', 'error', 'warning', 'pending'])).describe(
            'Projects with at least one such device. The counts are up to 10 minutes old, as for the orders `problems` and `devices`.',
          ),
        }),
      ),
      totals: optional(z.boolean()).describe('Answers `totals`.'),
    }),
    output: z.object({
      projects: z.array(z.object({ projectId: ProjectId, name: z.string() })),
      totals: z
        .object({
          deviceCount: U32,
          connectedCount: U32,
          warningCount: U32,
          errorCount: U32,
          pendingCount: U32,
          warningProjects: U32,
          errorProjects: U32,
          pendingProjects: U32,
          countedAt: Timestamp.optional().describe('Time of the oldest of the counts, or earlier.'),
        })
        .optional()
        .describe('Counts over all projects of the organization, up to 10 minutes old.'),
      ...listOutput,
    }),
    permission: asMember,
  }),
  organizations_SetName: command({
    summary: 'Renames an organization.',
    input: z.object({ organizationId: OrganizationId, name: Name }),
    output: Empty,
    permission: asAdministrator,
    audit: ['organizationId', 'name'],
  }),
  organizations_QueryRepositories: query({
    summary: 'Repositories of an organization, by name.',
    cost: 'scan if filtered',
    input: z.object({
      organizationId: OrganizationId,
      ...listInput(['name', 'createdAt'], TextFilter),
      withDetails: optional(z.boolean()).describe('Adds `details`.'),
    }),
    output: z.object({
      repositories: z.array(
        z.object({
          repositoryId: RepositoryId,
          ...repositoryNames,
          details: z
            .object({ visibility: RepositoryVisibility, packageCount: U32, assetCount: U32 })
            .optional(),
        }),
      ),
      ...listOutput,
    }),
    permission: asMember,
  }),
  organizations_Search: query({
    summary:
      'Finds projects, repositories and devices by what they are called, and devices by what they report, best match first.',
    cost: 'brief',
    input: z.object({
      organizationId: OrganizationId,
      text: text(MAX_FILTER_LENGTH).min(1, 'must not be empty'),
      limit: optional(z.int().min(1).max(50)).describe('Maximum of each kind; 8 when missing.'),
    }),
    output: z.object({
      projects: z.array(z.object({ projectId: ProjectId, name: z.string() })),
      repositories: z.array(z.object({ repositoryId: RepositoryId, ...repositoryNames })),
      devices: z.array(
        z.object({
          deviceId: DeviceId,
          name: z.string().optional(),
          hostname: z.string().optional(),
          projectId: ProjectId,
          projectName: z.string(),
          isConnected: z.boolean(),
          status: z.enum(['healthy', 'warning', 'error', 'offline']),
          pendingCertificatesCount: U32,
          lastSeenAt: Timestamp.optional().describe('End of the last connection of a disconnected device.'),
          match: DeviceMatch,
        }),
      ),
      hasMoreDevices: z.boolean().describe('More devices match.'),
      isCut: z
        .boolean()
        .describe('The search took more than 2 s. Devices are then found by the start of a field only.'),
    }),
    permission: asMember,
  }),
  organizations_QueryMembers: query({
    summary: 'Members of an organization with their role in it, by name.',
    cost: 'scan if filtered',
    input: z.object({ organizationId: OrganizationId, ...listInput(['name', 'email'], TextFilter) }),
    output: z.object({
      members: z.array(
        z.object({
          userId: UserId,
          displayName: z.string().optional(),
          email: z.string(),
          isAdmin: z.boolean().describe('Administrator of this organization.'),
          memberSince: Timestamp,
          lastSeenAt: Timestamp.optional().describe(
            'Last request of the person, with a session or a user token, up to a minute old.',
          ),
        }),
      ),
      ...listOutput,
    }),
    permission: asMember,
  }),
  organizations_AddMember: command({
    summary: 'Adds an account to an organization without an invitation.',
    input: z.object({ organizationId: OrganizationId, userId: UserId, isAdmin: optional(z.boolean()) }),
    output: Empty,
    permission: 'admin',
    audit: ['organizationId', 'userId', 'isAdmin'],
  }),
  organizations_SetMemberIsAdmin: command({
    summary: 'Changes a member’s role; the last administrator keeps theirs.',
    input: z.object({ organizationId: OrganizationId, userId: UserId, isAdmin: z.boolean() }),
    output: Empty,
    permission: asAdministrator,
    audit: ['organizationId', 'userId', 'isAdmin'],
  }),
  organizations_RemoveMember: command({
    summary: 'Removes a member or the caller; the last administrator cannot be removed.',
    input: z.object({ organizationId: OrganizationId, userId: UserId }),
    output: Empty,
    permission: { ...asAdministrator, orOneself: 'userId' },
    audit: ['organizationId', 'userId'],
  }),
  organizations_QueryInvitations: query({
    summary: 'Open invitations of an organization, newest first.',
    cost: 'bounded',
    input: z.object({ organizationId: OrganizationId, ...listInput(['createdAt', 'email'], TextFilter) }),
    output: z.object({
      invitations: z.array(
        z.object({
          invitationId: OrganizationInvitationId,
          email: z.string(),
          invitingUserId: UserId.optional(),
          invitingName: z.string().optional(),
          createdAt: Timestamp,
          endsAt: Timestamp.optional().describe('Absent for an invitation that does not end.'),
          link: z
            .string()
            .describe('Opens the sign-up page with the address filled in. The link gives no right.'),
          mail: z
            .object({
              state: z.enum(['Sending', 'Sent', 'NotSent']),
              reason: z.string().optional().describe('Why it is not sent.'),
            })
            .optional()
            .describe('The latest mail; absent where nothing is known of it.'),
        }),
      ),
      ...listOutput,
    }),
    permission: asMember,
  }),
  organizations_InviteMember: command({
    summary: 'Invites an address by mail; an open invitation of that address is returned again.',
    input: z.object({ organizationId: OrganizationId, email: Email }),
    output: z.object({ invitationId: OrganizationInvitationId }),
    permission: asAdministrator,
    rateLimit: { perPerson: { calls: 100, perSecs: 60 * 60 } },
    isCreation: true,
    audit: ['organizationId', 'email'],
  }),
  organizations_ResendInvitation: command({
    summary:
      'Mails an invitation again with another link. An address gets at most four invitations by mail in 24 hours.',
    input: z.object({ invitationId: OrganizationInvitationId }),
    output: Empty,
    permission: { can: 'administer', on: 'invitation', id: 'invitationId' },
    rateLimit: { perPerson: { calls: 100, perSecs: 60 * 60 } },
    audit: ['invitationId'],
  }),
  organizations_GetInvitation: query({
    summary: 'Address and organization of the link of an open invitation, for the sign-up page.',
    input: z.object({ linkId: z.uuid('expected the id in a link of an invitation') }),
    output: z.discriminatedUnion('result', [
      z.object({ result: z.literal('Found'), email: z.string(), organizationName: z.string() }),
      z.object({ result: z.literal('NotFound') }),
    ]),
    permission: 'anyone',
    rateLimit: { perAddress: { calls: 60, perSecs: 15 * 60 } },
  }),
  organizations_DeleteInvitation: command({
    summary: 'Withdraws an invitation.',
    input: z.object({ invitationId: OrganizationInvitationId }),
    output: Empty,
    permission: { can: 'administer', on: 'invitation', id: 'invitationId' },
    audit: ['invitationId'],
  }),
}
