import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import { checkAddresses } from './colliding-addresses.ts'
import * as jobs from './jobs/index.ts'
import { owners } from './owners.ts'
import { removeExpired, removeSignUps } from './retention.ts'
import { login, logout } from './routes-session.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `users_Create`, `users_CompleteRegistration` and `muster-hub admin create`, and at the first start of an instance. */
  users_Created: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_Delete`. */
  users_Deleted: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by `users_SetIsAdmin`. */
  users_SetIsAdmin: event<{ userId: string; isAdmin: boolean }>({ ids: ['userId'] }),
  /** Written by `users_SetIsActive` and `muster-hub admin disable`. */
  users_SetIsActive: event<{ userId: string; isActive: boolean }>({ ids: ['userId'] }),
  /** Written by `users_SetPassword`, `users_ChangePassword` and `muster-hub admin reset-password`. */
  users_SetPassword: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by `users_SetDisplayName`. */
  users_DisplayNameChanged: event<{ userId: string; displayName: string }>({ ids: ['userId'] }),
  /** Written by `users_InitiateEmailChange`. */
  users_EmailChangeRequested: event<{ userId: string; newEmail: string }>({ ids: ['userId'] }),
  /** Written by the job that mails a link to the new address of an account. */
  users_EmailChangeEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by the job that reports an asked change to the present address of an account. */
  users_EmailChangeNoticeSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_CompleteEmailChange` and `users_SetEmail`. */
  users_EmailChanged: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by the job that reports a change to the old address of an account. */
  users_EmailChangedEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_CreateToken`. */
  users_TokenCreated: event<{ userId: string; tokenId: string; name?: string; expiresAt?: string }>({
    ids: ['userId', 'tokenId'],
  }),
  /** Written by `users_DeleteToken`, and for each token that ends because a password was set or an account was disabled. */
  users_TokenDeleted: event<{ userId: string; tokenId: string; name?: string }>({
    ids: ['userId', 'tokenId'],
  }),
  /** Written by `users_Register`. */
  users_RegistrationCreated: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by the job that mails an activation link. */
  users_RegistrationEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_CompleteRegistration`. */
  users_RegistrationCompleted: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by the job that deletes accounts which were not activated in time. */
  users_RegistrationExpired: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_ResetPassword`. */
  users_PasswordResetRequested: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by the job that mails a link to set a password. */
  users_PasswordResetEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by the job that informs the owner of an account about a new password. */
  users_PasswordChangedEmailSent: event<{ userId: string; email: string }>({ ids: ['userId'] }),
  /** Written by `users_CompletePasswordReset`. */
  users_PasswordResetCompleted: event<{ userId: string }>({ ids: ['userId'] }),
  /** Written by the hub when a person signs in. */
  users_SessionInitiated: event<{ userId: string; sessionId: string }>({ ids: ['userId', 'sessionId'] }),
  /** Written by `users_TerminateSession`, `users_TerminateSessions`, a sign-out, and when an account is disabled. */
  users_SessionTerminated: event<{ userId: string; sessionId: string }>({ ids: ['userId', 'sessionId'] }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'person-tokens': {
    scope: 'person',
    unit: 'tokens',
    default: 1_000,
    max: 1_000_000,
    meaning: 'User tokens of a person that have not expired.',
  },
  'person-sessions': {
    scope: 'person',
    unit: 'sessions',
    default: 200,
    max: 1_000_000,
    meaning: 'Sessions of a person; a further sign-in ends the oldest.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

/** People: accounts, sessions, tokens and mails to them. */
export const accounts = defineFeature({
  actions,
  events,
  jobs,
  limits,
  owners,
  routes: { 'POST /api/private/login': login, 'POST /api/private/logout': logout },
  retention: [removeExpired, removeSignUps],
  checks: [checkAddresses],
})
