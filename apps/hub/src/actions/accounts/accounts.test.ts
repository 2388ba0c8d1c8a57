import { newId } from '@muster/actions'
import { auditRows, connectDevice, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '../../caller.ts'

let hub: TestHub
let ada: TestUser

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user({ displayName: 'Ada' })
})
afterAll(() => hub[Symbol.asyncDispose]())

describe('actor_GetActor', () => {
  it('answers everybody, without credentials too', async () => {
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

  it('tells a person with a session', async () => {
    expect(await ada.invoke('actor_GetActor', {})).toEqual({ actor: { actor: 'User', userId: ada.userId } })
  })

  it('tells a person with a token, and which', async () => {
    const token = await hub.userToken(ada)
    expect(await hub.withToken(token)('actor_GetActor', {})).toEqual({
      actor: { actor: 'UserToken', userId: ada.userId, tokenId: `u_pk_${token.slice(5, 27)}` },
    })
  })

  it('tells a device with its token, without which agents give up', async () => {
    const { token, tokenId } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    expect(await device.invoke('actor_GetActor', {})).toEqual({
      actor: { actor: 'Device', deviceId: device.deviceId, tokenId },
    })
  })

  it('tells the hub itself', async () => {
    expect(await hub.pipeline.run(SYSTEM, 'actor_GetActor', {})).toEqual({ actor: { actor: 'System' } })
  })

  it('knows no account that was switched off', async () => {
    const user = await hub.user()
    const token = await hub.userToken(user)
    await hub.db.updateTable('user').set({ is_active: false }).where('user_id', '=', user.userId).execute()
    const anonymous = { actor: { actor: 'Anonymous' } }
    expect(await user.invoke('actor_GetActor', {})).toEqual(anonymous)
    expect(await hub.withToken(token)('actor_GetActor', {})).toEqual(anonymous)
  })
})

describe('users_GetDetails', () => {
  it('tells a person their profile', async () => {
    expect(await ada.invoke('users_GetDetails', { userId: ada.userId })).toEqual({
      userId: ada.userId,
      email: ada.email,
      displayName: 'Ada',
      isAdmin: false,
    })
  })

  it('leaves out a name that nobody gave', async () => {
    const user = await hub.user()
    const details = await user.invoke('users_GetDetails', { userId: user.userId })
    expect(details).not.toHaveProperty('displayName')
  })

  it('tells administrators of the instance, on the record', async () => {
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

  it('tells nobody else, members of the same organization included', async () => {
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

describe('users_QueryOrganizations', () => {
  it('lists the organizations of a person by name, and says that none needs a subscription', async () => {
    const user = await hub.user()
    expect(await user.invoke('users_QueryOrganizations', { userId: user.userId })).toEqual({
      organizations: [],
    })
    const { organizationId: second } = await user.invoke('organizations_Create', { name: 'Beta' })
    const { organizationId: first } = await user.invoke('organizations_Create', { name: 'Alpha' })
    expect(await user.invoke('users_QueryOrganizations', { userId: user.userId })).toEqual({
      organizations: [
        { organizationId: first, name: 'Alpha', requiresSubscription: false },
        { organizationId: second, name: 'Beta', requiresSubscription: false },
      ],
    })
  })
})
