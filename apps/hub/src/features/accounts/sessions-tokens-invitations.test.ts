import { setTimeout as sleep } from 'node:timers/promises'
import { newId, publicIdOf } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  clearAudit,
  failed,
  liveStream,
  signIn,
  type TestHub,
  type TestUser,
  testHub,
  until,
  withWrongEnd,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../platform/config/config.ts'
import { hashSecret } from '../../platform/credentials/secrets.ts'
import { createLog } from '../../platform/runtime/log.ts'
import { userTokenUses } from '../../platform/sessions/person-uses.ts'

const REFUSED = { kind: 'Forbidden', status: 403, message: 'You are not permitted to do this.' }

let hub: TestHub
let admin: TestUser
let ada: TestUser

beforeAll(async () => {
  hub = await testHub()
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  ada = await hub.user()
  await clearAudit(hub)
})

const sessionIdOf = ({ cookie }: Pick<TestUser, 'cookie'>): string => publicIdOf(cookie.split('=')[1]!)

async function furtherSession({ email, password }: TestUser, userAgent: string): Promise<TestUser['cookie']> {
  const answer = await signIn(hub, email, password, { 'user-agent': userAgent })
  return answer.headers.getSetCookie()[0]!.split(';')[0]!
}

describe('sessions', () => {
  it('are listed newest first without expired ones, and the calling session is marked', async () => {
    const { userId } = ada
    const second = await furtherSession(ada, '<b>Browser</b>/1.0')
    const expired = await furtherSession(ada, 'old')
    await hub.db
      .updateTable('session')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('session_id', '=', sessionIdOf({ cookie: expired }))
      .execute()
    const { sessions } = await ada.invoke('users_QuerySessions', { userId })
    expect(sessions).toEqual([
      {
        sessionId: sessionIdOf({ cookie: second }),
        createdAt: expect.stringMatching(/Z$/),
        expiresAt: expect.stringMatching(/Z$/),
        userAgent: '<b>Browser</b>/1.0',
        isCurrent: false,
      },
      expect.objectContaining({ sessionId: sessionIdOf(ada), isCurrent: true }),
    ])
    const page = await ada.invoke('users_QuerySessions', { userId, limit: 1, sort: 'createdAt' })
    expect(page).toMatchObject({ sessions: [{ sessionId: sessionIdOf(ada) }], total: 2 })
    const byToken = await hub.withToken(await hub.userToken(ada))('users_QuerySessions', { userId })
    expect(byToken.sessions.map(({ isCurrent }) => isCurrent)).toEqual([false, false])
    const byAdmin = await admin.invoke('users_QuerySessions', { userId })
    expect(byAdmin.sessions.map(({ isCurrent }) => isCurrent)).toEqual([false, false])
  })

  it('end at once, including the calling session, and each end is audited', async () => {
    const { userId } = ada
    const cookie = await furtherSession(ada, 'other')
    const sessionId = sessionIdOf({ cookie })
    expect(await ada.invoke('users_TerminateSession', { sessionId })).toEqual({})
    expect(await hub.sessions.callerOf({ cookie: cookie.split('=')[1]! })).toEqual({ actor: 'Anonymous' })
    expect(await failed(ada.invoke('users_TerminateSession', { sessionId }))).toMatchObject(REFUSED)
    await ada.invoke('users_TerminateSession', { sessionId: sessionIdOf(ada) })
    expect(await ada.invoke('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    expect(await auditEvents(hub, 'users_SessionTerminated')).toMatchObject([
      { data: { userId, sessionId }, actor: { userId } },
      { data: { userId, sessionId: sessionIdOf(ada) } },
    ])
  })

  it('are at most as many as the limit says: a further sign-in ends the oldest, which is audited', async () => {
    await using small = await testHub({ limits: { ...loadConfig({}).limits, 'person-sessions': 2 } })
    const person = await small.user()
    const other = await small.user()
    await clearAudit(small)
    const cookies = [person.cookie]
    for (let count = 0; count < 3; count++) {
      const answer = await signIn(small, person.email, person.password)
      cookies.push(answer.headers.getSetCookie()[0]!.split(';')[0]!)
    }
    const callers = await Promise.all(
      cookies.map(cookie => small.sessions.callerOf({ cookie: cookie.split('=')[1]! })),
    )
    expect(callers.map(({ actor }) => actor)).toEqual(['Anonymous', 'Anonymous', 'User', 'User'])
    expect(await auditEvents(small, 'users_SessionTerminated')).toMatchObject(
      cookies.slice(0, 2).map(cookie => ({
        data: { userId: person.userId, sessionId: sessionIdOf({ cookie }) },
      })),
    )
    expect(await other.invoke('actor_GetActor', {})).toMatchObject({ actor: { actor: 'User' } })
  })

  it('of another person cannot be ended, not even by administrators', async () => {
    for (const { invoke } of [admin, await hub.user()])
      expect(await failed(invoke('users_TerminateSession', { sessionId: sessionIdOf(ada) }))).toMatchObject(
        REFUSED,
      )
    expect(
      await failed(ada.invoke('users_TerminateSession', { sessionId: `u_session_pk_${'1'.repeat(22)}` })),
    ).toMatchObject(REFUSED)
    expect(await ada.invoke('actor_GetActor', {})).toMatchObject({ actor: { actor: 'User' } })
  })
})

describe('tokens', () => {
  it('show their secret once, are stored as a hash, and work until they are deleted', async () => {
    const { userId } = ada
    const { token, tokenId } = await ada.invoke('users_CreateToken', { userId, name: ' Backup script ' })
    expect(token).toMatch(/^u_sk_.{66}$/)
    expect(tokenId).toBe(publicIdOf(token))
    const row = await hub.db
      .selectFrom('user_token')
      .where('token_id', '=', tokenId)
      .selectAll()
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({ user_id: userId, name: 'Backup script', token_hash: hashSecret(token) })
    const byToken = hub.withToken(token)
    expect(await ada.invoke('users_QueryTokens', { userId })).toEqual({
      tokens: [{ tokenId, name: 'Backup script', createdAt: expect.stringMatching(/Z$/) }],
    })
    // A user token works for every action of its person and needs no `Origin` header.
    const { organizationId } = await byToken('organizations_Create', { name: 'By token' })
    await byToken('organizations_Delete', { organizationId })
    expect(await byToken('users_DeleteToken', { tokenId })).toEqual({})
    expect(await byToken('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    const everything = JSON.stringify([await auditRows(hub), await auditEvents(hub)])
    expect(everything).not.toContain(token)
    expect(await auditEvents(hub, 'users_TokenCreated')).toMatchObject([{ data: { userId, tokenId } }])
    expect(await auditEvents(hub, 'users_TokenDeleted')).toMatchObject([
      { data: { userId, tokenId }, actor: { actor: 'UserToken', tokenId } },
    ])
  })

  it('S8: show the time and the address of their last use within seconds', async () => {
    const { userId } = ada
    const { token, tokenId } = await ada.invoke('users_CreateToken', { userId, name: 'CI' })
    const { tokens: unused } = await ada.invoke('users_QueryTokens', { userId })
    expect(unused).toEqual([{ tokenId, name: 'CI', createdAt: expect.any(String) }])
    const usedAtMs = Date.now()
    await hub.withToken(token)('actor_GetActor', {})
    const answeredAtMs = Date.now()
    const tokenNow = async () => (await ada.invoke('users_QueryTokens', { userId })).tokens[0]!
    await expect.poll(async () => (await tokenNow()).lastUsedAddress).toBe('127.0.0.1')
    const { lastUsedAt } = await tokenNow()
    expect(Date.parse(lastUsedAt!)).toBeGreaterThanOrEqual(usedAtMs - 1_000)
    expect(Date.parse(lastUsedAt!)).toBeLessThanOrEqual(answeredAtMs + 1_000)
    // A call with a wrong secret does not count as a use of the token.
    await hub.withToken(withWrongEnd(token))('actor_GetActor', {})
    await hub.withToken(token)('actor_GetActor', {})
    expect((await tokenNow()).lastUsedAt).toBe(lastUsedAt)
  })

  it('S8: store their last use at most once a minute over all nodes, and the rest when the hub stops', async () => {
    const { userId } = ada
    const { tokenId } = await ada.invoke('users_CreateToken', { userId, name: 'CI' })
    const lastUse = async () =>
      (
        await hub.db
          .selectFrom('user_token')
          .where('token_id', '=', tokenId)
          .select(['last_used_address as address'])
          .executeTakeFirstOrThrow()
      ).address
    {
      await using uses = userTokenUses({ db: hub.db, log: createLog('silent') })
      uses.add(tokenId, { address: '192.0.2.1' })
      await expect.poll(lastUse).toBe('192.0.2.1')
      uses.add(tokenId, { address: '192.0.2.2' })
      uses.add(newId('u'), { address: '192.0.2.3' })
      await sleep(1_500)
      expect(await lastUse()).toBe('192.0.2.1')
      // Another node has not written within the minute, so only the database knows that this node has.
      {
        await using otherNode = userTokenUses({ db: hub.db, log: createLog('silent') })
        otherNode.add(tokenId, { address: '192.0.2.4' })
      }
      expect(await lastUse()).toBe('192.0.2.1')
      await hub.pool.query(`update user_token set last_used_at = last_used_at - interval '1 minute'`)
    }
    expect(await lastUse()).toBe('192.0.2.2')
  })

  it('S8: expire for calls and live streams, and leave the list 30 days later', async () => {
    const { userId } = ada
    const made = await ada.invoke('users_CreateToken', { userId, name: 'For a day', validForSecs: 86_400 })
    const { token, tokenId, expiresAt } = made
    expect(Date.parse(expiresAt!) - Date.now()).toBeGreaterThan(86_390_000)
    expect(await hub.withToken(token)('actor_GetActor', {})).toMatchObject({ actor: { tokenId } })
    expect((await ada.invoke('users_QueryTokens', { userId })).tokens).toMatchObject([{ tokenId, expiresAt }])
    const headers = { authorization: `Bearer ${token}` }
    const stream = await fetch(`${hub.url}/api/v1/live`, { headers })
    expect(stream.status).toBe(200)
    const expire = (daysAgo: number) =>
      hub.db
        .updateTable('user_token')
        .set({ expires_at: new Date(Date.now() - daysAgo * 86_400_000 - 1) })
        .where('token_id', '=', tokenId)
        .execute()
    await expire(0)
    expect(await hub.withToken(token)('actor_GetActor', {})).toEqual({ actor: { actor: 'Anonymous' } })
    // Resolves only when the body ends: the hub must close the live stream of the expired token.
    await stream.text()
    expect((await ada.invoke('users_QueryTokens', { userId })).tokens).toHaveLength(1)
    await expire(31)
    await hub.runJob('instance_CleanupExpired', {})
    expect((await ada.invoke('users_QueryTokens', { userId })).tokens).toEqual([])
    for (const validForSecs of [0, -1, 1.5, 315_360_001])
      expect(await failed(ada.invoke('users_CreateToken', { userId, validForSecs }))).toMatchObject({
        kind: 'Invalid',
        issues: [{ path: 'validForSecs' }],
      })
  })

  it('C7: have their name in the audit rows of their calls', async () => {
    const { userId } = ada
    const { token, tokenId } = await ada.invoke('users_CreateToken', { userId, name: 'Backup script' })
    await hub.withToken(token)('organizations_Create', { name: 'By token' })
    const rows = async () => {
      const { actions } = await admin.invoke('audit_QueryAuditLogActions', {
        filter: { types: ['organizations_Create'] },
      })
      const { events } = await admin.invoke('audit_QueryAuditLogEvents', {
        filter: { types: ['organizations_Created'] },
      })
      return [actions[0]!, events[0]!]
    }
    for (const row of await rows())
      expect(row).toMatchObject({ actor: { actor: 'UserToken', tokenId }, tokenName: 'Backup script' })
    await ada.invoke('users_DeleteToken', { tokenId })
    for (const row of await rows()) {
      expect(row).toMatchObject({ actor: { actor: 'UserToken', tokenId } })
      expect(row).not.toHaveProperty('tokenName')
    }
    const deleted = { data: { tokenId, name: 'Backup script' } }
    expect(await auditEvents(hub, 'users_TokenDeleted')).toMatchObject([deleted])
  })

  it('need a recent sign-in or the current password to be created', async () => {
    const { userId } = ada
    const input = { userId, name: 'CI' }
    const refused = { kind: 'Forbidden', issues: [{ path: 'currentPassword' }] }
    await hub.db
      .updateTable('session')
      .set({ created_at: new Date(Date.now() - 16 * 60_000) })
      .where('user_id', '=', userId)
      .execute()
    expect(await failed(ada.invoke('users_CreateToken', input))).toMatchObject(refused)
    const currentPassword = ada.password
    expect(await ada.invoke('users_CreateToken', { ...input, currentPassword })).toMatchObject({
      tokenId: expect.any(String),
    })
    const everything = JSON.stringify(await auditRows(hub))
    expect(everything).not.toContain(ada.password)
  })

  it('S37: are not made by a user token, with the current password neither', async () => {
    const byToken = hub.withToken(await hub.userToken(ada))
    const input = { userId: ada.userId, name: 'CI' }
    for (const currentPassword of [undefined, 'wrong', ada.password])
      expect(await failed(byToken('users_CreateToken', { ...input, currentPassword }))).toMatchObject({
        kind: 'Forbidden',
        message: 'This needs a person who is signed in; a user token cannot do it.',
      })
    expect(JSON.stringify(await auditRows(hub))).not.toContain(ada.password)
  })

  it('are listed in pages, and can be sorted and searched', async () => {
    const { userId } = ada
    for (const name of ['b', 'a', undefined]) await ada.invoke('users_CreateToken', { userId, name })
    const names = async (input: object) =>
      (await ada.invoke('users_QueryTokens', { userId, ...input })).tokens.map(({ name }) => name)
    expect(await names({})).toEqual([undefined, 'a', 'b'])
    expect(await names({ sort: 'name' })).toEqual([undefined, 'a', 'b'])
    expect(await names({ sort: '-name', limit: 1 })).toEqual(['b'])
    expect(await names({ filter: { text: 'A' } })).toContain('a')
  })

  it('are created by their person only, and administrators may list and delete them', async () => {
    const { userId } = ada
    const { tokenId } = await ada.invoke('users_CreateToken', { userId })
    const otherTenant = await hub.user()
    for (const { invoke } of [admin, otherTenant])
      expect(await failed(invoke('users_CreateToken', { userId }))).toMatchObject(REFUSED)
    expect(await failed(otherTenant.invoke('users_QueryTokens', { userId }))).toMatchObject(REFUSED)
    expect(await failed(otherTenant.invoke('users_DeleteToken', { tokenId }))).toMatchObject(REFUSED)
    expect((await admin.invoke('users_QueryTokens', { userId })).tokens).toMatchObject([{ tokenId }])
    expect(await admin.invoke('users_DeleteToken', { tokenId })).toEqual({})
    expect(await failed(ada.invoke('users_DeleteToken', { tokenId }))).toMatchObject(REFUSED)
  })
})

describe('invitations', () => {
  async function invitation(organizationId: string, email: string): Promise<string> {
    const invitationId = newId('org_invite')
    await hub.db
      .insertInto('organization_invitation')
      .values({ invitation_id: invitationId, organization_id: organizationId, email })
      .execute()
    return invitationId
  }

  it('to the address of a person are listed for them and deleted when accepted', async () => {
    const { userId } = ada
    const owner = await hub.user()
    const organizationId = await hub.organization(owner)
    const invitationId = await invitation(organizationId, ada.email.toUpperCase())
    await invitation(organizationId, 'somebody@else.example')
    await hub.db.deleteFrom('audit_event').execute()
    await using console = await liveStream(hub, ada)
    await using consoleOfOwner = await liveStream(hub, owner)
    expect(await ada.invoke('users_QueryOrganizationInvitations', { userId })).toEqual({
      invitations: [{ invitationId, organization: { organizationId, name: 'Test organization' } }],
    })
    expect(await ada.invoke('users_AcceptOrganizationInvitation', { invitationId })).toEqual({})
    expect(await ada.invoke('users_QueryOrganizationInvitations', { userId })).toEqual({ invitations: [] })
    expect(await ada.invoke('users_QueryOrganizations', { userId })).toMatchObject({
      organizations: [{ organizationId }],
    })
    const members = await hub.db
      .selectFrom('organization_member')
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', userId)
      .selectAll()
      .execute()
    expect(members).toMatchObject([{ is_admin: false }])
    expect(await auditEvents(hub, 'organizations_MemberAdded')).toMatchObject([
      { data: { organizationId, userId, isAdmin: false }, organizationId, actor: { userId } },
    ])
    await until('the notice to the new member', () =>
      ['organizations', 'invitations'].every(topic => console.changes.some(change => change.topic === topic)),
    )
    await until('the notice to the organization', () =>
      consoleOfOwner.changes.some(
        change => change.topic === 'members' && change.organizationId === organizationId,
      ),
    )
  })

  it('accepted four times at once make one member', async () => {
    const owner = await hub.user()
    const organizationId = await hub.organization(owner)
    const invitationId = await invitation(organizationId, ada.email)
    await hub.db.deleteFrom('audit_event').execute()
    const byToken = hub.withToken(await hub.userToken(ada))
    const outcomes = await Promise.allSettled(
      [ada.invoke, byToken, ada.invoke, byToken].map(invoke =>
        invoke('users_AcceptOrganizationInvitation', { invitationId }),
      ),
    )
    const refusals = outcomes.filter(outcome => outcome.status === 'rejected')
    expect(refusals).toHaveLength(3)
    for (const { reason } of refusals) expect(reason).toMatchObject(REFUSED)
    expect(await auditEvents(hub, 'organizations_MemberAdded')).toHaveLength(1)
  })

  it('of an existing member are deleted when accepted and change no role', async () => {
    const owner = await hub.user()
    const organizationId = await hub.organization(owner)
    const invitationId = await invitation(organizationId, owner.email)
    await hub.db.deleteFrom('audit_event').execute()
    expect(await owner.invoke('users_AcceptOrganizationInvitation', { invitationId })).toEqual({})
    const members = await hub.db
      .selectFrom('organization_member')
      .where('organization_id', '=', organizationId)
      .selectAll()
      .execute()
    expect(members).toMatchObject([{ user_id: owner.userId, is_admin: true }])
    expect(await auditEvents(hub, 'organizations_MemberAdded')).toEqual([])
  })

  it('to others are refused like absent ones', async () => {
    const owner = await hub.user()
    const invitationId = await invitation(await hub.organization(owner), 'somebody@else.example')
    for (const { invoke } of [ada, owner, admin])
      for (const id of [invitationId, newId('org_invite')])
        expect(
          await failed(invoke('users_AcceptOrganizationInvitation', { invitationId: id })),
        ).toMatchObject(REFUSED)
  })
})
