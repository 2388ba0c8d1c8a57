import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import { removeOldMailCounts } from './invitations.ts'
import * as jobs from './jobs/index.ts'
import { owners } from './owners.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `organizations_Create`, for each new account, and at the first start of an instance or of its demo fleet. */
  organizations_Created: event<{ organizationId: string }>({ ids: ['organizationId'] }),
  /** Written by `organizations_Delete`. */
  organizations_Deleted: event<{ organizationId: string }>({ ids: ['organizationId'] }),
  /** Written by `organizations_SetName`. */
  organizations_NameChanged: event<{ organizationId: string; name: string }>({ ids: ['organizationId'] }),
  /** Written by `organizations_AddMember`, an accepted invitation, and for each administrator of a new organization. */
  organizations_MemberAdded: event<{ organizationId: string; userId: string; isAdmin: boolean }>({
    ids: ['organizationId', 'userId'],
  }),
  /** Written by `organizations_RemoveMember`. */
  organizations_MemberRemoved: event<{ organizationId: string; userId: string }>({
    ids: ['organizationId', 'userId'],
  }),
  /** Written by `organizations_SetMemberIsAdmin`. */
  organizations_MemberAdminStatusChanged: event<{ organizationId: string; userId: string; isAdmin: boolean }>(
    { ids: ['organizationId', 'userId'] },
  ),
  /** Written by `organizations_InviteMember`. */
  organizations_InvitationCreated: event<{ organizationId: string; invitationId: string; email: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
  /** Written by `organizations_ResendInvitation`. */
  organizations_InvitationResent: event<{ organizationId: string; invitationId: string; email: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
  /** Written by the job that mails an invitation. */
  organizations_InvitationEmailSent: event<{ organizationId: string; invitationId: string; email: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
  /** Written by `organizations_DeleteInvitation`, and by `organizations_InviteMember` for an invitation that has ended. */
  organizations_InvitationDeleted: event<{ organizationId: string; invitationId: string }>({
    ids: ['organizationId', 'invitationId'],
  }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'person-organizations': {
    scope: 'person',
    unit: 'organizations',
    default: 100,
    max: 1_000_000,
    meaning: 'Organizations of which a person is an administrator; further ones are not created.',
  },
  'organization-invitations': {
    scope: 'organization',
    unit: 'open invitations',
    default: 1_000,
    max: 1_000_000,
    meaning: 'Invitations of an organization that nobody has accepted or withdrawn; each sent one mail.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

/** Organizations, their members and invitations. */
export const organizations = defineFeature({
  actions,
  events,
  jobs,
  limits,
  owners,
  retention: [removeOldMailCounts],
})
