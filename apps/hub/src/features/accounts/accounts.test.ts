import { newId } from '@muster/actions'
import { auditRows, connectDevice, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '../../platform/pipeline/caller.ts'

let hub: TestHub
let ada: TestUser

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user({ displayName: 'Ada' })
})
afterAll(() => hub[Symbol.asyncDispose]())

describe('actor_GetActor', () => {
  it('returns Anonymous for callers without valid credentials', async () => {
    expect(await hub.anonymous('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    for (const token of [
      'x',
      newId('u_sk'),
      newId('u_session_sk'),
      newId('deployment'),
      `org_sk_${'1'.repeat(66)}`,
    ])
      expect(await hub.withToken(token)('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
  })

  it('returns the person and the id of a session', async () => {
    expect(await ada.invoke('actor_GetActor', {})).toEqual({
      actor: { actor: 'User', userId: ada.userId },
      sessionId: expect.stringMatching(/^u_session_pk_/),
    })
  })

  it('returns the person and the id of a user token', async () => {
    const token = await hub.userToken(ada)
    expect(await hub.withToken(token)('actor_GetActor', {})).toEqual({
      actor: { actor: 'UserToken', userId: ada.userId, tokenId: `u_pk_${token.slice(5, 27)}` },
    })
  })

  it('returns the device and the id of its token, which agents require', async () => {
    const { token, tokenId } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    expect(await device.invoke('actor_GetActor', {})).toEqual({
      actor: { actor: 'Device', deviceId: device.deviceId, tokenId },
    })
  })

  it('returns System for the hub itself', async () => {
    expect(await hub.pipeline.run(SYSTEM, 'actor_GetActor', {})).toEqual({ actor: { actor: 'System' } })
  })

  it('returns Anonymous for the session and the token of a disabled account', async () => {
    const user = await hub.user()
    const token = await hub.userToken(user)
    await hub.db.updateTable('user').set({ is_active: false }).where('user_id', '=', user.userId).execute()
    const anonymous = { actor: { actor: 'Anonymous' } }
    expect(await user.invoke('actor_GetActor', {})).toEqual(anonymous)
    expect(await hub.withToken(token)('actor_GetActor', {})).toEqual(anonymous)
  })
})

describe('users_GetDetails', () => {
  it('returns the profile of the calling person', async () => {
    expect(await ada.invoke('users_GetDetails', { userId: ada.userId })).toEqual({
      userId: ada.userId,
      email: ada.email,
      displayName: 'Ada',
      isAdmin: false,
    })
  })

  it('omits the display name of an account that has none', async () => {
    const user = await hub.user()
    const details = await user.invoke('users_GetDetails', { userId: user.userId })
    expect(details).not.toHaveProperty('displayName')
  })

  it('lets administrators of the instance read other accounts, and audits it', async () => {
    const admin = await hub.user({ isAdmin: true })
    expect(await admin.invoke('users_GetDetails', { userId: ada.userId })).toMatchObject({ email: ada.email })
    expect(await admin.invoke('users_GetDetails', { userId: admin.userId })).toMatchObject({ isAdmin: true })
    expect(await auditRows(hub, 'users_GetDetails')).toEqual([
      {
        action: 'users_GetDetails',
        actor: { actor: 'User', userId: admin.userId },
        data: { userId: ada.userId },
        status: 'Succeeded',
      },
    ])
  })

  it('refuses everybody else, including members of the same organization', async () => {
    const { owner, organizationId } = await hub.fleet()
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: ada.userId })
      .execute()
    await expect(owner.invoke('users_GetDetails', { userId: ada.userId })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
  })
})

describe('actor_GetActor', () => {
  it('has the account of a session, if asked for it', async () => {
    const user = await hub.user()
    const { userId } = user
    await user.invoke('organizations_Create', { name: 'Alpha' })
    const { account, ...actor } = await user.invoke('actor_GetActor', { withAccount: true })
    expect(actor).toEqual(await user.invoke('actor_GetActor', {}))
    expect(account).toEqual({
      users_GetDetails: await user.invoke('users_GetDetails', { userId }),
      users_QueryOrganizations: await user.invoke('users_QueryOrganizations', { userId }),
      users_QueryOrganizationInvitations: { invitations: [], total: 0 },
    })
    expect(account!.users_QueryOrganizations.organizations).toMatchObject([{ name: 'Alpha' }])
    const byToken = hub.withToken(await hub.userToken(user))
    expect(await byToken('actor_GetActor', { withAccount: true })).not.toHaveProperty('account')
  })
})

describe('users_QueryOrganizations', () => {
  it('lists the organizations of a person by name, none with a required subscription', async () => {
    const user = await hub.user()
    expect(await user.invoke('users_QueryOrganizations', { userId: user.userId })).toEqual({
      organizations: [],
    })
    const { organizationId: second } = await user.invoke('organizations_Create', { name: 'Beta' })
    const { organizationId: first } = await user.invoke('organizations_Create', { name: 'Alpha' })
    expect(await user.invoke('users_QueryOrganizations', { userId: user.userId })).toEqual({
      organizations: [
        { organizationId: first, name: 'Alpha', requiresSubscription: false, isAdmin: true },
        { organizationId: second, name: 'Beta', requiresSubscription: false, isAdmin: true },
      ],
    })
  })
})
