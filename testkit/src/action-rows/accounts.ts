import { type accounts, newId, publicIdOf } from '@muster/actions'
import { hashSecret } from '@muster/hub/secrets'
import { mailedJwt, signIn } from '../people.ts'
import { addInvitation, addNothing, createdAt, FIRST_MS, text, time, timeOf } from './list-items.ts'
import { anotherInvitation, anotherOrganization, anotherPerson, newEmail, newSession } from './records.ts'
import { ACTORS, type AuditWorld, ONESELF, ONESELF_OR_ADMIN, READERS, type Rows } from './row.ts'

export const accountRows: Rows<typeof accounts> = {
  actor_GetActor: { input: () => ({ withAccount: true }), may: ACTORS },
  users_Query: {
    input: () => ({}),
    may: ['instanceAdmin'],
    list: {
      items: 'users',
      id: 'userId',
      sorts: {
        createdAt: time('createdAt'),
        email: text('email'),
        displayName: item => text('displayName')(item).toLowerCase(),
      },
      defaultSort: '-createdAt',
      hasText: true,
      named: 'displayName',
      add: addNothing, // This list shows the members of the organization too.
    },
  },
  users_GetDetails: { input: (_, { userId }) => ({ userId }), may: ONESELF_OR_ADMIN },
  users_Create: {
    input: () => ({ email: newEmail(), displayName: 'Eve' }),
    may: ['instanceAdmin'],
    audited: ({ plant }) => ({ email: newEmail(), password: plant() }),
  },
  users_Delete: {
    input: async world => ({ userId: (await anotherPerson(world)).userId }),
    may: ['instanceAdmin'],
  },
  users_SetIsAdmin: {
    input: async world => ({ userId: (await anotherPerson(world)).userId, isAdmin: true }),
    may: ['instanceAdmin'],
  },
  users_SetIsActive: {
    input: async world => ({ userId: (await anotherPerson(world)).userId, isActive: false }),
    may: ['instanceAdmin'],
  },
  users_SetDisplayName: {
    input: (_, { userId }) => ({ userId, displayName: 'Renamed' }),
    may: ONESELF_OR_ADMIN,
  },
  users_SetPassword: {
    input: ({ people }, { userId }) => ({ userId, password: people.member.password }),
    may: ['member', 'instanceAdmin'],
    audited: async world => ({ userId: (await anotherPerson(world)).userId, password: world.plant() }),
  },
  users_ChangePassword: {
    input: ({ people: { member } }, { userId }) => ({
      userId,
      currentPassword: member.password,
      newPassword: member.password,
    }),
    may: ['member'],
    audited: async ({ plant }, oneself) => {
      const { userId } = oneself
      oneself.password = plant()
      await oneself.invoke('users_SetPassword', { userId, password: oneself.password })
      return { userId, currentPassword: oneself.password, newPassword: oneself.password }
    },
  },
  users_InitiateEmailChange: {
    input: ({ people: { member } }, { userId }) => ({
      userId,
      currentPassword: member.password,
      newEmail: newEmail(),
    }),
    may: ['member'],
    audited: async ({ plant }, oneself) => {
      const { userId } = oneself
      oneself.password = plant()
      await oneself.invoke('users_SetPassword', { userId, password: oneself.password })
      return { userId, currentPassword: oneself.password, newEmail: newEmail() }
    },
  },
  users_CompleteEmailChange: {
    input: () => ({ token: 'no JWT' }),
    may: ACTORS,
    audited: async ({ hub, mailed }) => {
      const { userId, email, password, invoke } = await hub.user()
      await invoke('users_InitiateEmailChange', { userId, currentPassword: password, newEmail: newEmail() })
      const token = await mailedJwt(hub, 'EmailChange', email)
      mailed.push(token)
      return { token }
    },
  },
  users_SetEmail: {
    input: async world => ({ userId: (await anotherPerson(world)).userId, email: newEmail() }),
    may: ['instanceAdmin'],
  },
  users_ResetPassword: { input: () => ({ email: newEmail() }), may: ACTORS },
  users_CompletePasswordReset: {
    input: ({ people }) => ({ resetToken: 'no JWT', password: people.member.password }),
    may: ACTORS,
    audited: async ({ hub, mailed, plant }) => {
      const { email } = await hub.user()
      await hub.anonymous('users_ResetPassword', { email })
      const resetToken = await mailedJwt(hub, 'PasswordReset', email)
      mailed.push(resetToken)
      return { resetToken, password: plant() }
    },
  },
  users_Register: {
    input: ({ people }) => ({
      email: newEmail(),
      password: people.member.password,
      consentedToTerms: true as const,
    }),
    may: ACTORS,
    audited: ({ plant }) => ({ email: newEmail(), password: plant(), consentedToTerms: true as const }),
  },
  users_ResendRegistrationEmail: {
    input: () => ({ email: newEmail() }),
    may: ACTORS,
    audited: async world => ({ email: await registered(world) }),
  },
  users_CompleteRegistration: {
    input: () => ({ activationToken: 'no JWT' }),
    may: ACTORS,
    audited: async world => {
      const activationToken = await mailedJwt(world.hub, 'Activation', await registered(world))
      world.mailed.push(activationToken)
      return { activationToken }
    },
  },
  users_QueryOrganizations: { input: (_, { userId }) => ({ userId }), may: ONESELF_OR_ADMIN },
  users_QueryOrganizationInvitations: {
    input: (_, { userId }) => ({ userId }),
    may: ONESELF_OR_ADMIN,
    list: {
      items: 'invitations',
      id: 'invitationId',
      sorts: { createdAt: createdAt('invitationId') },
      defaultSort: '-createdAt',
      hasText: false,
      add: async (world, name, index) => {
        const organization_id = newId('org')
        await world.hub.db.insertInto('organization').values({ organization_id, name }).execute()
        await addInvitation(world, organization_id, world.people.member.email.toUpperCase(), index)
      },
    },
  },
  users_AcceptOrganizationInvitation: {
    input: async (world, { email }) => ({
      invitationId: await anotherInvitation(world, await anotherOrganization(world), email),
    }),
    may: ONESELF,
  },
  users_GetView: { input: ({ projectId }) => ({ projectId }), may: READERS },
  users_SetView: {
    input: ({ projectId }) => ({ projectId, columns: [{ column: 'status' }, { property: 'app.version' }] }),
    may: READERS,
  },
  users_GetDevicePermissions: {
    input: ({ deviceId }, { userId }) => ({ userId, deviceId }),
    may: ONESELF_OR_ADMIN,
  },
  users_QuerySessions: {
    input: (_, { userId }) => ({ userId }),
    may: ONESELF_OR_ADMIN,
    list: {
      items: 'sessions',
      id: 'sessionId',
      sorts: { createdAt: time('createdAt'), expiresAt: time('expiresAt') },
      defaultSort: '-createdAt',
      hasText: false,
      add: async ({ hub, people }, name, index) => {
        const secret = newId('u_session_sk')
        await hub.db
          .insertInto('session')
          .values({
            session_id: publicIdOf(secret),
            token_hash: hashSecret(secret),
            user_id: people.member.userId,
            user_agent: name,
            created_at: timeOf(index),
            expires_at: new Date(FIRST_MS + 48 * 60 * 60 * 1000 + 1000 * Math.floor(index / 2)),
          })
          .execute()
      },
    },
  },
  users_TerminateSession: {
    input: async ({ hub }, { userId }) => ({ sessionId: publicIdOf(await newSession(hub, userId)) as never }),
    may: ONESELF,
    audited: async ({ hub, generated }, { email, password }) => {
      const answer = await signIn(hub, email, password)
      const session = /=(u_session_sk_\w+)/.exec(answer.headers.get('set-cookie')!)![1]!
      generated.push(session)
      return { sessionId: publicIdOf(session) }
    },
  },
  users_TerminateSessions: {
    input: (_, { userId }) => ({ userId }),
    may: ONESELF_OR_ADMIN,
    audited: async world => ({ userId: (await anotherPerson(world)).userId }),
  },
  users_QueryTokens: {
    input: (_, { userId }) => ({ userId }),
    may: ONESELF_OR_ADMIN,
    list: {
      items: 'tokens',
      id: 'tokenId',
      sorts: { createdAt: time('createdAt'), name: text('name') },
      defaultSort: '-createdAt',
      hasText: true,
      add: async ({ hub, people }, name, index) => {
        const secret = newId('u_sk')
        await hub.db
          .insertInto('user_token')
          .values({
            token_id: publicIdOf(secret),
            token_hash: hashSecret(secret),
            user_id: people.member.userId,
            name,
            created_at: timeOf(index),
          })
          .execute()
      },
    },
  },
  users_CreateToken: { input: (_, { userId }) => ({ userId, name: 'Another token' }), may: ['member'] },
  users_DeleteToken: {
    input: async ({ hub }, person) => ({ tokenId: publicIdOf(await hub.userToken(person)) }),
    may: ONESELF_OR_ADMIN,
    audited: async ({ hub, generated }, oneself) => {
      const token = await hub.userToken(oneself)
      generated.push(token)
      return { tokenId: publicIdOf(token) }
    },
  },
}

/** Registers an account without activating it. Resolves to its email address. */
async function registered({ hub, plant }: AuditWorld): Promise<string> {
  const email = newEmail()
  await hub.anonymous('users_Register', { email, password: plant(), consentedToTerms: true })
  return email
}
