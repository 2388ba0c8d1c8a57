import { isOfOneself } from '../audit/shared/entry.ts'
import { formerName, renamed, renaming } from '../audit/shared/phrases.ts'
import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of organizations. */
export const organizationEvents = {
  organizations_Created: { kind: 'organization', say: 'created the organization {organizationId}' },
  organizations_Deleted: {
    kind: 'organization',
    say: entry => `deleted the organization ${formerName(entry, 'organizationId')}`,
  },
  organizations_NameChanged: {
    kind: 'organization',
    say: entry => `renamed the organization ${renamed(entry)}`,
  },
  organizations_MemberAdded: {
    kind: 'member',
    say: entry => {
      if (isOfOneself(entry)) return entry.data.isAdmin ? 'joined as an administrator' : 'joined'
      return entry.data.isAdmin ? 'added {userId} as an administrator' : 'added {userId} as a member'
    },
  },
  organizations_MemberRemoved: {
    kind: 'member',
    say: entry => {
      if (isOfOneself(entry)) return 'left the organization'
      const who = entry.old?.name === undefined ? '{userId}' : '{userId:old.name}'
      return `removed ${who} from the organization`
    },
  },
  organizations_MemberAdminStatusChanged: {
    kind: 'member',
    say: ({ data }) =>
      data.isAdmin
        ? 'made {userId} an administrator of {organizationId}'
        : 'made {userId} an ordinary member of {organizationId}',
  },
  organizations_InvitationCreated: { kind: 'member', say: 'invited [email]' },
  organizations_InvitationResent: { kind: 'member', say: 'sent the invitation to [email] again' },
  organizations_InvitationEmailSent: { kind: 'member', say: 'sent the invitation to [email]' },
  organizations_InvitationDeleted: {
    kind: 'member',
    say: ({ old }) =>
      old?.email === undefined ? 'withdrew an invitation' : 'withdrew the invitation of [old.email]',
  },
} as const satisfies EventSentences<'organizations'>

/** Phrases for the logged actions on organizations. */
export const organizationActions = {
  organizations_Create: { kind: 'organization', say: 'create the organization [name]' },
  organizations_Delete: { kind: 'organization', say: 'delete the organization {organizationId}' },
  organizations_SetName: { kind: 'organization', say: renaming('organization', 'organizationId') },
  organizations_AddMember: { kind: 'member', say: 'add {userId} to {organizationId}' },
  organizations_SetMemberIsAdmin: { kind: 'member', say: 'change the role of {userId}' },
  organizations_RemoveMember: { kind: 'member', say: 'remove {userId} from {organizationId}' },
  organizations_InviteMember: { kind: 'member', say: 'invite [email]' },
  organizations_ResendInvitation: { kind: 'member', say: 'send the invitation {invitationId} again' },
  organizations_DeleteInvitation: { kind: 'member', say: 'withdraw the invitation {invitationId}' },
} as const satisfies ActionPhrases<'organizations'>
