import { event } from '../../platform/audit/events.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
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

/** Organizations, their members and invitations. */
export const organizations = defineFeature({ actions, events, jobs, owners })
