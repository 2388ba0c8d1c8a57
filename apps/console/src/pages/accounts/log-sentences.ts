import { isOfOneself } from '../audit/shared/entry.ts'
import { from } from '../audit/shared/phrases.ts'
import type { ActionPhrases, EventSentences, SentenceRow } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of accounts. */
export const accountEvents = {
  users_Created: { kind: 'account', say: 'created the account [email]' },
  users_Deleted: {
    kind: 'account',
    say: ({ old }) =>
      old?.email === undefined ? 'deleted the account {userId}' : 'deleted the account [old.email]',
  },
  users_SetIsAdmin: {
    kind: 'account',
    say: ({ data }) =>
      data.isAdmin
        ? 'made {userId} an administrator of the instance'
        : 'withdrew the administration of the instance from {userId}',
  },
  users_SetIsActive: {
    kind: 'account',
    say: ({ data }) => (data.isActive ? 'enabled the account {userId}' : 'disabled the account {userId}'),
  },
  users_SetPassword: {
    kind: 'account',
    say: entry => (isOfOneself(entry) ? 'changed their password' : 'set the password of {userId}'),
  },
  users_DisplayNameChanged: {
    kind: 'account',
    say: entry => {
      const before = entry.old?.displayName ? ' from [old.displayName]' : ''
      const whose = isOfOneself(entry) ? 'their display name' : 'the display name of {userId}'
      return `changed ${whose}${before} to [displayName]`
    },
  },
  users_EmailChangeRequested: {
    kind: 'account',
    say: 'asked for a link to change the address of {userId} to [newEmail]',
  },
  users_EmailChangeEmailSent: { kind: 'account', say: 'sent a link to confirm an address to [email]' },
  users_EmailChangeNoticeSent: { kind: 'account', say: 'reported an asked change of the address to [email]' },
  users_EmailChanged: {
    kind: 'account',
    say: entry => {
      const before = entry.old?.email ? ' from [old.email]' : ''
      const whose = isOfOneself(entry) ? 'their address' : 'the address of {userId}'
      return `changed ${whose}${before} to [email]`
    },
  },
  users_EmailChangedEmailSent: { kind: 'account', say: 'reported a new address to [email]' },
  users_TokenCreated: { kind: 'token', say: ({ data }) => `created the user token ${nameOrId(data)}` },
  users_TokenDeleted: { kind: 'token', say: ({ data }) => `deleted the user token ${nameOrId(data)}` },
  users_RegistrationCreated: { kind: 'account', say: 'signed up as [email]' },
  users_RegistrationEmailSent: { kind: 'account', say: 'sent the link to activate an account to [email]' },
  users_RegistrationCompleted: { kind: 'account', say: 'activated the account {userId}' },
  users_RegistrationExpired: {
    kind: 'account',
    say: 'deleted the account [email], which was not activated in time',
  },
  users_PasswordResetRequested: { kind: 'account', say: 'asked for a link to set the password of {userId}' },
  users_PasswordResetEmailSent: { kind: 'account', say: 'sent a link to set a password to [email]' },
  users_PasswordChangedEmailSent: { kind: 'account', say: 'reported a new password to [email]' },
  users_PasswordResetCompleted: { kind: 'account', say: 'set the password of {userId} with a mailed link' },
  users_SessionInitiated: { kind: 'signIn', say: entry => `signed in${from(entry)}` },
  users_SessionTerminated: {
    kind: 'signIn',
    say: entry => (isOfOneself(entry) ? 'ended a session of their own' : 'ended a session of {userId}'),
  },
} as const satisfies EventSentences<'accounts'>

/** Phrases for the logged actions on accounts. A sign-in is logged as an action too. */
export const accountActions = {
  users_InitiateSession: {
    kind: 'signIn',
    say: ({ data }) => (data.email === undefined ? 'sign in' : 'sign in as [email]'),
  },
  users_Create: { kind: 'account', say: 'create the account [email]' },
  users_Delete: { kind: 'account', say: 'delete the account {userId}' },
  users_SetIsAdmin: { kind: 'account', say: 'change the administration of the instance by {userId}' },
  users_SetIsActive: {
    kind: 'account',
    say: ({ data }) => (data.isActive ? 'enable the account {userId}' : 'disable the account {userId}'),
  },
  users_SetDisplayName: { kind: 'account', say: 'change the display name of {userId}' },
  users_SetPassword: { kind: 'account', say: 'set the password of {userId}' },
  users_ChangePassword: { kind: 'account', say: 'change their password' },
  users_InitiateEmailChange: { kind: 'account', say: 'ask for a link to change their address to [newEmail]' },
  users_CompleteEmailChange: { kind: 'account', say: 'change the address of an account with a mailed link' },
  users_SetEmail: { kind: 'account', say: 'change the address of {userId} to [email]' },
  users_ResetPassword: { kind: 'account', say: 'ask for a link to set a password' },
  users_CompletePasswordReset: { kind: 'account', say: 'set a password with a mailed link' },
  users_Register: { kind: 'account', say: 'sign up as [email]' },
  users_ResendRegistrationEmail: { kind: 'account', say: 'ask for a link to activate an account' },
  users_CompleteRegistration: { kind: 'account', say: 'activate an account' },
  users_AcceptOrganizationInvitation: { kind: 'member', say: 'accept an invitation' },
  users_TerminateSession: { kind: 'signIn', say: 'end a session' },
  users_TerminateSessions: { kind: 'signIn', say: 'end the sessions of {userId}' },
  users_CreateToken: { kind: 'token', say: 'create the user token [name]' },
  users_DeleteToken: { kind: 'token', say: 'delete the user token {tokenId}' },
} as const satisfies ActionPhrases<'accounts'> & { users_InitiateSession: SentenceRow<{ email: string }> }

function nameOrId({ name }: { name?: string }): string {
  return name === undefined ? '{tokenId}' : '[name]'
}
