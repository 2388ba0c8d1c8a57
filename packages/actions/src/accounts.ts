import { z } from 'zod'
import { command, listInput, listOutput, optional, optionalText, preference, query } from './define.ts'
import { DeviceSort, ListColumn, PropertyPath } from './device-filters.ts'
import {
  ClusterNodeId,
  DeploymentTokenId,
  DeviceId,
  OrganizationId,
  OrganizationInvitationId,
  ProjectId,
  UserId,
  UserSessionId,
  UserToken,
  UserTokenId,
} from './ids.ts'
import {
  MAX_COLUMN_PATH_PARTS,
  MAX_FILTER_LENGTH,
  MAX_PROPERTY_COLUMNS,
  MAX_SIGN_UP_NAME_LENGTH,
} from './limits.ts'
import { trimmedText } from './patterns.ts'
import {
  Email,
  Empty,
  isVisible,
  Jwt,
  NAME_PATTERNS,
  Name,
  NewPassword,
  Password,
  Timestamp,
  text,
  undirected,
} from './scalars.ts'

/** The caller of an action, as it appears on the wire (docs/api.md Appendix A). */
export const Actor = z.discriminatedUnion('actor', [
  z.object({ actor: z.literal('Anonymous') }),
  z.object({ actor: z.literal('System') }),
  z.object({ actor: z.literal('User'), userId: UserId }),
  z.object({ actor: z.literal('UserToken'), userId: UserId, tokenId: UserTokenId }),
  z.object({ actor: z.literal('Device'), deviceId: DeviceId, tokenId: DeploymentTokenId }),
  z.object({ actor: z.literal('ClusterNode'), nodeId: ClusterNodeId }),
])
export type Actor = z.output<typeof Actor>

/**
 * The actor of a stored row. A node of a newer release may have stored a kind of actor that this release does not know, see `openWord`.
 */
export const StoredActor = z.union([
  Actor,
  z.looseObject({ actor: z.string() }),
]) as unknown as z.ZodType<Actor>

/** Progress of a person's registration (docs/api.md Appendix A). */
const RegistrationState = {
  status: z.object({ tag: z.enum(['Pending', 'Waiting', 'Completed', 'Failed']) }),
  message: z.string().optional(),
  createdAt: Timestamp,
}

const Result = <const Name extends string, Shape extends z.ZodRawShape>(result: Name, shape: Shape) =>
  z.object({ result: z.literal(result), ...shape })

const TextFilter = z.object({
  text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a name, address or id.'),
})

const CurrentPassword = optional(Password).describe('Accepted in place of a recent sign-in.')

const EndTokens = optional(z.boolean()).describe('True also ends the user tokens of the account.')

const ofOneself = { can: 'own', on: 'user', id: 'userId' } as const
const ofAccount = { can: 'view', on: 'user', id: 'userId' } as const

const MINUTE_SECS = 60
/** Longest validity of a user token with an expiry, in seconds: ten years. */
const MAX_TOKEN_SECS = 315_360_000

const ColumnWidth = optional(z.int().min(1).max(4_000))

/** Visible columns of a device list from left to right, after the column of the name. A column without a width has the default width. */
export const ListColumns = z
  .array(
    z.union([
      z.object({ column: ListColumn, widthPx: ColumnWidth }),
      z.object({ property: PropertyPath, widthPx: ColumnWidth }),
    ]),
  )
  .max(ListColumn.options.length + MAX_PROPERTY_COLUMNS)
  .meta({ uniqueItems: true })

/** Output of `users_GetDetails`. */
const AccountDetails = z.object({
  userId: UserId,
  email: z.string(),
  displayName: z.string().optional(),
  isAdmin: z.boolean(),
})

/** Output of `users_QueryOrganizations`. */
const OrganizationsOfAccount = z.object({
  organizations: z.array(
    z.object({
      organizationId: OrganizationId,
      name: z.string(),
      requiresSubscription: z.boolean(),
      isAdmin: z.boolean().optional().describe('Whether the person is an administrator of the organization.'),
    }),
  ),
})

/** Output of `users_QueryOrganizationInvitations`. */
const InvitationsOfAccount = z.object({
  invitations: z.array(
    z.object({
      invitationId: OrganizationInvitationId,
      organization: z.object({ organizationId: OrganizationId, name: z.string() }),
    }),
  ),
  ...listOutput,
})

/** Actions on the caller and on accounts (docs/api.md 2.2 and 2.3). */
export const accounts = {
  actor_GetActor: query({
    summary: "Returns the caller's identity as the hub resolved it.",
    input: z.object({
      withAccount: optional(z.boolean()).describe('Adds `account`, for a person who is signed in.'),
    }),
    output: z.object({
      actor: Actor,
      sessionId: UserSessionId.optional().describe(
        'The browser session of this call, for a person who is signed in.',
      ),
      account: z
        .object({
          users_GetDetails: AccountDetails,
          users_QueryOrganizations: OrganizationsOfAccount,
          users_QueryOrganizationInvitations: InvitationsOfAccount.describe('At most one, and the total.'),
        })
        .optional()
        .describe('Outputs of these actions for the account of the caller; with `withAccount` only.'),
    }),
    permission: 'anyone',
  }),
  users_Query: query({
    summary: 'Accounts of the instance, newest first.',
    cost: 'scan if filtered',
    input: z.object(listInput(['createdAt', 'email', 'displayName'], TextFilter)),
    output: z.object({
      users: z.array(
        z.object({
          userId: UserId,
          email: z.string(),
          displayName: z.string().optional(),
          isAdmin: z.boolean(),
          isActive: z.boolean().describe('False for a disabled account, and for one that is pending.'),
          isPending: z.boolean().describe('True until the person opens the mailed activation link.'),
          createdAt: Timestamp,
        }),
      ),
      ...listOutput,
    }),
    permission: 'admin',
    aliases: ['users_QueryUsers'],
  }),
  users_GetDetails: query({
    summary: 'Profile of one account.',
    input: z.object({ userId: UserId }),
    output: AccountDetails,
    permission: ofAccount,
    aliases: ['users_GetUserDetails'],
  }),
  users_Create: command({
    summary: 'Creates an account; without `password` its owner gets a mail with a link to set one.',
    input: z.object({
      email: Email,
      displayName: optionalText(Name),
      name: optionalText(Name).describe('Alternative to `displayName`, which takes precedence.'),
      password: optional(NewPassword),
      isAdmin: optional(z.boolean()),
      currentPassword: CurrentPassword,
    }),
    output: z.discriminatedUnion('result', [
      Result('Created', { userId: UserId }),
      Result('EmailAlreadyExists', {}),
    ]),
    permission: 'admin',
    recentSignIn: {
      when: 'for an administrator, or with `password`',
      isNeeded: ({ isAdmin, password }) => isAdmin === true || password !== undefined,
    },
    failedResults: ['EmailAlreadyExists'],
    audit: ['email', 'displayName', 'isAdmin'],
    aliases: ['users_CreateUser'],
  }),
  users_Delete: command({
    summary:
      'Deletes an account with its tokens, sessions and memberships; not one’s own, not the last administrator’s.',
    input: z.object({ userId: UserId }),
    output: Empty,
    permission: 'admin',
    audit: ['userId'],
    aliases: ['users_DeleteUser'],
  }),
  users_SetIsAdmin: command({
    summary: 'Grants or revokes administration of the instance; the last administrator keeps it.',
    input: z.object({ userId: UserId, isAdmin: z.boolean(), currentPassword: CurrentPassword }),
    output: Empty,
    permission: 'admin',
    recentSignIn: { when: 'always', isNeeded: () => true },
    audit: ['userId', 'isAdmin'],
    aliases: ['users_SetUserIsAdmin'],
  }),
  users_SetIsActive: command({
    summary: 'Disables an account and ends its sessions and user tokens, or enables it again.',
    input: z.object({ userId: UserId, isActive: z.boolean(), currentPassword: CurrentPassword }),
    output: Empty,
    permission: 'admin',
    recentSignIn: { when: 'to enable', isNeeded: ({ isActive }) => isActive },
    audit: ['userId', 'isActive'],
  }),
  users_SetDisplayName: command({
    summary: 'Changes the display name of an account.',
    input: z.object({ userId: UserId, displayName: Name }),
    output: Empty,
    permission: { can: 'manage', on: 'user', id: 'userId' },
    audit: ['userId', 'displayName'],
    aliases: ['users_SetUserDisplayName'],
  }),
  users_SetPassword: command({
    summary:
      'Sets a password; all other sessions end, and if somebody else sets it, user tokens too. Mails the owner.',
    input: z.object({
      userId: UserId,
      password: NewPassword,
      currentPassword: CurrentPassword,
      endTokens: EndTokens,
    }),
    output: Empty,
    permission: { can: 'manage', on: 'user', id: 'userId' },
    recentSignIn: { when: 'always', isNeeded: () => true },
    // Each call mails the account's owner, so the limit bounds the mails that one person can cause.
    rateLimit: { perPerson: { calls: 100, perSecs: 15 * MINUTE_SECS } },
    audit: ['userId', 'endTokens'],
    aliases: ['users_SetUserPassword'],
  }),
  users_ChangePassword: command({
    summary:
      'Sets a password, given the current one; all other sessions of the account end. Mails the owner.',
    input: z.object({
      userId: UserId,
      currentPassword: Password,
      newPassword: NewPassword,
      endTokens: EndTokens,
    }),
    output: z.discriminatedUnion('result', [Result('Completed', {}), Result('InvalidCurrentPassword', {})]),
    permission: ofOneself,
    needsSession: true,
    rateLimit: { perPerson: { calls: 10, perSecs: 15 * MINUTE_SECS } },
    failedResults: ['InvalidCurrentPassword'],
    audit: ['userId', 'endTokens'],
  }),
  users_ResetPassword: command({
    summary:
      'Mails a link to set a password, up to five an hour, if there is such an account; the answer is always the same.',
    input: z.object({ email: Email }),
    output: Empty,
    permission: 'anyone',
    rateLimit: { perAddress: { calls: 20, perSecs: 15 * MINUTE_SECS } },
    audit: ['email'],
  }),
  users_CompletePasswordReset: command({
    summary:
      'Sets a password with the mailed JWT, which works once; all sessions and user tokens of the account end.',
    input: z.object({ resetToken: Jwt, password: NewPassword }),
    output: z.discriminatedUnion('result', [Result('Completed', {}), Result('InvalidToken', {})]),
    permission: 'anyone',
    rateLimit: { perAddress: { calls: 30, perSecs: 15 * MINUTE_SECS } },
    failedResults: ['InvalidToken'],
    audit: [],
  }),
  users_InitiateEmailChange: command({
    summary:
      'Mails a link to a new address of one’s own, with which it becomes the address of the account, and a notice to the old one.',
    input: z.object({ userId: UserId, currentPassword: Password, newEmail: Email }),
    output: z.discriminatedUnion('result', [
      Result('Pending', {}),
      Result('InvalidCurrentPassword', {}),
      Result('SameEmail', {}),
      Result('EmailAlreadyExists', {}),
    ]),
    permission: ofOneself,
    needsSession: true,
    // Each call sends two mails, one of them to an address that the caller chooses.
    rateLimit: { perPerson: { calls: 5, perSecs: 60 * MINUTE_SECS } },
    failedResults: ['InvalidCurrentPassword', 'SameEmail', 'EmailAlreadyExists'],
    audit: ['userId', 'newEmail'],
  }),
  users_CompleteEmailChange: command({
    summary: 'Changes the address of an account with the mailed JWT, which works once.',
    input: z.object({ token: Jwt }),
    output: z.discriminatedUnion('result', [
      Result('Completed', {}),
      Result('InvalidToken', {}),
      Result('EmailAlreadyExists', {}),
    ]),
    permission: 'anyone',
    rateLimit: { perAddress: { calls: 30, perSecs: 15 * MINUTE_SECS } },
    failedResults: ['InvalidToken', 'EmailAlreadyExists'],
    audit: [],
  }),
  users_SetEmail: command({
    summary: 'Changes the address of an account without a mailed link; mails a notice to the old one.',
    input: z.object({ userId: UserId, email: Email, currentPassword: CurrentPassword }),
    output: z.discriminatedUnion('result', [Result('Updated', {}), Result('EmailAlreadyExists', {})]),
    permission: 'admin',
    recentSignIn: { when: 'always', isNeeded: () => true },
    // Each call mails the account's owner, so the limit bounds the mails that one person can cause.
    rateLimit: { perPerson: { calls: 100, perSecs: 15 * MINUTE_SECS } },
    failedResults: ['EmailAlreadyExists'],
    audit: ['userId', 'email'],
  }),
  users_Register: command({
    summary: 'Signs up: mails a link that activates the account.',
    input: z.object({
      displayName: optional(
        undirected(
          text(MAX_SIGN_UP_NAME_LENGTH)
            .refine(value => /^[^\p{Cc}]*$/u.test(value), 'must not contain control characters')
            .trim()
            .refine(isVisible, 'must not be empty'),
        ).meta({ pattern: trimmedText(MAX_SIGN_UP_NAME_LENGTH), allOf: NAME_PATTERNS }),
      ),
      email: Email,
      password: NewPassword,
      consentedToTerms: z.literal(true, 'the terms must be consented to'),
      consentedToMarketing: optional(z.boolean()),
    }),
    output: z.discriminatedUnion('result', [
      Result('Created', RegistrationState),
      Result('Pending', RegistrationState),
      Result('EmailAlreadyExists', {}),
    ]),
    permission: 'anyone',
    rateLimit: { perAddress: { calls: 20, perSecs: 15 * MINUTE_SECS } },
    failedResults: ['Pending', 'EmailAlreadyExists'],
    audit: ['email', 'displayName', 'consentedToTerms', 'consentedToMarketing'],
    aliases: ['users_RegisterUser'],
  }),
  users_ResendRegistrationEmail: command({
    summary:
      'Mails a link for an unfinished registration again, up to five an hour; the answer is always the same.',
    input: z.object({ email: Email }),
    output: Empty,
    permission: 'anyone',
    rateLimit: { perAddress: { calls: 20, perSecs: 15 * MINUTE_SECS } },
    audit: ['email'],
  }),
  users_CompleteRegistration: command({
    summary: 'Activates an account with the mailed JWT, which works once.',
    input: z.object({ activationToken: Jwt }),
    output: z.discriminatedUnion('result', [Result('Completed', {}), Result('Failed', {})]),
    permission: 'anyone',
    rateLimit: { perAddress: { calls: 30, perSecs: 15 * MINUTE_SECS } },
    failedResults: ['Failed'],
    audit: [],
  }),
  users_QueryOrganizations: query({
    summary: 'Organizations that a person belongs to, by name.',
    input: z.object({ userId: UserId }),
    output: OrganizationsOfAccount,
    permission: ofAccount,
  }),
  users_QueryOrganizationInvitations: query({
    summary: 'Open invitations to the address of a person, newest first.',
    input: z.object({ userId: UserId, ...listInput(['createdAt'], z.object({})) }),
    output: InvitationsOfAccount,
    permission: ofAccount,
  }),
  users_AcceptOrganizationInvitation: command({
    summary: 'Joins the organization that invited the caller; the invitation is used up.',
    input: z.object({ invitationId: OrganizationInvitationId }),
    output: Empty,
    permission: { can: 'own', on: 'invitation', id: 'invitationId' },
    audit: ['invitationId'],
  }),
  users_GetView: query({
    summary: 'Columns and order that the caller has chosen for the device list of a project.',
    input: z.object({ projectId: ProjectId }),
    output: z.object({
      columns: ListColumns.optional().describe('Absent until the caller has chosen some.'),
      nameWidthPx: z.int().optional(),
      order: z.string().optional().describe('Absent until the caller has chosen an order.'),
      leftOut: z
        .array(z.string())
        .optional()
        .describe(
          `Paths of kept columns and of a kept order that are left out, because they have more than ${MAX_COLUMN_PATH_PARTS} parts.`,
        ),
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  users_SetView: preference({
    summary: 'Keeps the columns and the order that the caller has chosen for the device list of a project.',
    input: z.object({
      projectId: ProjectId,
      columns: optional(ListColumns).describe(
        `Each column once, at most ${MAX_PROPERTY_COLUMNS} properties. Missing: the default columns again.`,
      ),
      nameWidthPx: ColumnWidth,
      order: optional(DeviceSort).describe('Missing: the default order again.'),
    }),
    output: Empty,
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  users_GetDevicePermissions: query({
    summary: 'Whether a person may reach a device.',
    input: z.object({ userId: UserId, deviceId: DeviceId }),
    output: z.object({ hasAccess: z.boolean() }),
    permission: ofAccount,
  }),
  users_QuerySessions: query({
    summary: 'Browser sessions of a person that have not expired, newest first.',
    input: z.object({ userId: UserId, ...listInput(['createdAt', 'expiresAt'], z.object({})) }),
    output: z.object({
      sessions: z.array(
        z.object({
          sessionId: UserSessionId,
          createdAt: Timestamp,
          expiresAt: Timestamp,
          userAgent: z.string(),
          isCurrent: z.boolean().describe('True for the session of this call.'),
        }),
      ),
      ...listOutput,
    }),
    permission: ofAccount,
    aliases: ['users_QueryUserSessions'],
  }),
  users_TerminateSession: command({
    summary: 'Ends a browser session of one’s own.',
    input: z.object({ sessionId: UserSessionId }),
    output: Empty,
    permission: { can: 'own', on: 'session', id: 'sessionId' },
    audit: ['sessionId'],
    aliases: ['users_TerminateUserSession'],
  }),
  users_TerminateSessions: command({
    summary: 'Ends every browser session of an account except that of the caller.',
    input: z.object({ userId: UserId }),
    output: Empty,
    permission: { can: 'manage', on: 'user', id: 'userId' },
    audit: ['userId'],
  }),
  users_QueryTokens: query({
    summary: 'Personal access tokens of a person, without their secrets, newest first.',
    cost: 'bounded',
    input: z.object({ userId: UserId, ...listInput(['createdAt', 'name'], TextFilter) }),
    output: z.object({
      tokens: z.array(
        z.object({
          tokenId: UserTokenId,
          createdAt: Timestamp,
          name: z.string().optional(),
          expiresAt: Timestamp.optional().describe('Absent for a token that does not end by itself.'),
          lastUsedAt: Timestamp.optional().describe(
            'To the minute; absent for a token that was not used yet.',
          ),
          lastUsedAddress: z.string().optional().describe('Address of that use.'),
        }),
      ),
      ...listOutput,
    }),
    permission: ofAccount,
    aliases: ['users_QueryUserTokens'],
  }),
  users_CreateToken: command({
    summary: 'Issues a personal access token of one’s own; its secret is returned only here.',
    input: z.object({
      userId: UserId,
      name: optional(Name),
      validForSecs: optional(z.int().min(1).max(MAX_TOKEN_SECS)).describe('Unlimited when missing.'),
      currentPassword: CurrentPassword,
    }),
    output: z.object({ tokenId: UserTokenId, token: UserToken, expiresAt: Timestamp.optional() }),
    permission: ofOneself,
    recentSignIn: { when: 'always', isNeeded: () => true },
    isCreation: true,
    audit: ['userId', 'name', 'validForSecs'],
    shownOnce: ['token'],
    aliases: ['users_CreateUserToken'],
  }),
  users_DeleteToken: command({
    summary: 'Revokes a personal access token.',
    input: z.object({ tokenId: UserTokenId }),
    output: Empty,
    permission: { can: 'manage', on: 'userToken', id: 'tokenId' },
    audit: ['tokenId'],
    aliases: ['users_DeleteUserToken'],
  }),
}
