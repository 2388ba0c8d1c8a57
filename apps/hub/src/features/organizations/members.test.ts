import { newId } from '@muster/actions'
import {
  ask,
  auditEvents,
  auditRows,
  clearAudit,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const LAST = 'This is the last administrator of the organization: make another member an administrator first.'
const NOT_PERMITTED = { kind: 'Forbidden', status: 403, message: 'You are not permitted to do this.' }
/** Unusual but valid names: markup, right-to-left and invisible characters, SQL, templates, maximum length. */
const ODD_NAMES = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  'مرحبا بالعالم',
  'שלום abc',
  '👩‍🚀 Weltraum',
  "Robert'); drop table organization; --",
  '{{7*7}} %s',
  'x'.repeat(128),
  '😀'.repeat(128),
]

let hub: TestHub
/** Administrator of the organization of each test. */
let ada: TestUser
/** Member of the organization of each test. */
let grace: TestUser
/** Administrator of the instance. */
let admin: TestUser
let organizationId: string

beforeAll(async () => {
  hub = await testHub()
  ada = await hub.user({ displayName: 'Ada' })
  grace = await hub.user({ displayName: 'Grace' })
  admin = await hub.user({ isAdmin: true })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  organizationId = await hub.organization(ada, [grace])
  await clearAudit(hub)
})

describe('organizations_SetName', () => {
  it('renames the organization for all members, and is audited', async () => {
    await using console = await liveStream(hub, grace)
    expect(await ada.invoke('organizations_SetName', { organizationId, name: '  Harbour ' })).toEqual({})
    const { organizations } = await grace.invoke('users_QueryOrganizations', { userId: grace.userId })
    expect(organizations).toContainEqual({
      organizationId,
      name: 'Harbour',
      requiresSubscription: false,
      isAdmin: false,
    })
    expect(await auditEvents(hub)).toMatchObject([
      { event: 'organizations_NameChanged', data: { organizationId, name: 'Harbour' }, organizationId },
    ])
    await until('the notice of the new name', () =>
      console.changes.some(({ topic }) => topic === 'organizations'),
    )
  })

  it.each(ODD_NAMES)('stores %j unchanged', async name => {
    await ada.invoke('organizations_SetName', { organizationId, name })
    const { organizations } = await ada.invoke('organizations_Query', {})
    expect(organizations).toContainEqual({ organizationId, name })
  })

  it.each([
    ['', 'must not be empty'],
    [' \t ', 'must not be empty'],
    ['x'.repeat(129), 'must have at most 128 characters'],
    ['x'.repeat(10_000), 'must have at most 128 characters'],
    ['a\nb', 'must not contain control characters'],
    ['\ud800', 'must not contain control characters'],
  ])('refuses %j with an issue at its field', async (name, message) => {
    await expect(ada.invoke('organizations_SetName', { organizationId, name })).rejects.toMatchObject({
      kind: 'Invalid',
      issues: [{ path: 'name', message }],
    })
  })
})

describe('organizations_QueryMembers', () => {
  it('lists each member with only their names, address, role in this organization and times', async () => {
    const { members } = await grace.invoke('organizations_QueryMembers', { organizationId })
    const times = (index: number) => {
      const { memberSince, lastSeenAt } = members[index]!
      return { memberSince, lastSeenAt }
    }
    expect(members).toEqual([
      { userId: ada.userId, displayName: 'Ada', email: ada.email, isAdmin: true, ...times(0) },
      { userId: grace.userId, displayName: 'Grace', email: grace.email, isAdmin: false, ...times(1) },
    ])
  })

  it('answers since when a person is a member, and when their last request was', async () => {
    await hub.db
      .updateTable('organization_member')
      .set({ created_at: '2026-03-02T08:00:00Z' })
      .where('organization_id', '=', organizationId)
      .where('user_id', '=', grace.userId)
      .execute()
    const answer = await ada.invoke('organizations_QueryMembers', { organizationId })
    const ofGrace = answer.members.find(({ userId }) => userId === grace.userId)!
    expect(Date.parse(ofGrace.memberSince)).toBe(Date.parse('2026-03-02T08:00:00Z'))
    const visitor = await hub.user()
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: visitor.userId })
      .execute()
    await visitor.invoke('actor_GetActor', {})
    const lastSeen = async () => {
      const { members } = await ada.invoke('organizations_QueryMembers', { organizationId })
      return members.find(({ userId }) => userId === visitor.userId)!.lastSeenAt
    }
    await expect.poll(lastSeen).toEqual(expect.any(String))
    expect(Date.now() - Date.parse((await lastSeen())!)).toBeLessThan(60_000)
  })

  it('shows the role in the organization, not in the instance', async () => {
    await admin.invoke('organizations_AddMember', { organizationId, userId: admin.userId })
    const { members } = await ada.invoke('organizations_QueryMembers', {
      organizationId,
      filter: { text: admin.email },
    })
    expect(members).toMatchObject([{ userId: admin.userId, email: admin.email, isAdmin: false }])
  })

  it('audits a read by an administrator of the instance who is no member', async () => {
    await admin.invoke('organizations_QueryMembers', { organizationId })
    expect(await auditRows(hub)).toMatchObject([
      { action: 'organizations_QueryMembers', data: { organizationId }, status: 'Succeeded' },
    ])
  })
})

describe('organizations_QueryRepositories', () => {
  it('lists each repository with all names that clients use', async () => {
    const repositories = [
      { repositoryId: newId('repo'), display_name: 'Firmware', slug: `firmware-${Date.now()}` },
      { repositoryId: newId('repo'), display_name: 'Was für ein Name', slug: null },
    ]
    for (const { repositoryId, ...names } of repositories)
      await hub.db
        .insertInto('repository')
        .values({ repository_id: repositoryId, organization_id: organizationId, ...names })
        .execute()
    const [first, second] = repositories
    expect(await grace.invoke('organizations_QueryRepositories', { organizationId })).toEqual({
      repositories: [
        {
          repositoryId: first!.repositoryId,
          name: 'Firmware',
          displayName: 'Firmware',
          slug: first!.slug,
          publicName: first!.slug,
        },
        {
          repositoryId: second!.repositoryId,
          name: 'Was für ein Name',
          displayName: 'Was für ein Name',
          publicName: second!.repositoryId,
        },
      ],
    })
    const [only] = (
      await grace.invoke('organizations_QueryRepositories', { organizationId, limit: 1, withDetails: true })
    ).repositories
    const { visibility, packageCount, assetCount } = await grace.invoke('repositories_GetDetails', {
      repositoryId: only!.repositoryId,
    })
    expect(only).toMatchObject({ name: 'Firmware', details: { visibility, packageCount, assetCount } })
  })
})

describe('organizations_AddMember', () => {
  it('deletes an open invitation, which would let a removed person join again', async () => {
    const newcomer = await hub.user()
    const email = newcomer.email.toUpperCase()
    const { invitationId } = await ada.invoke('organizations_InviteMember', { organizationId, email })
    await using console = await liveStream(hub, newcomer)
    await admin.invoke('organizations_AddMember', { organizationId, userId: newcomer.userId })
    await ada.invoke('organizations_RemoveMember', { organizationId, userId: newcomer.userId })
    const joining = newcomer.invoke('users_AcceptOrganizationInvitation', { invitationId })
    await expect(joining).rejects.toMatchObject(NOT_PERMITTED)
    await until('the notice to the newcomer', () =>
      console.changes.some(({ topic }) => topic === 'invitations'),
    )
  })

  it('adds an account without an invitation, is audited, and notifies the consoles of all members', async () => {
    const newcomer = await hub.user()
    await using console = await liveStream(hub, newcomer)
    await using others = await liveStream(hub, ada)
    expect(
      await admin.invoke('organizations_AddMember', { organizationId, userId: newcomer.userId }),
    ).toEqual({})
    expect(await roleOf(newcomer)).toBe('Member')
    expect(await auditEvents(hub, 'organizations_MemberAdded')).toMatchObject([
      { data: { organizationId, userId: newcomer.userId, isAdmin: false }, organizationId },
    ])
    await until('the notice to the newcomer', () =>
      console.changes.some(({ topic }) => topic === 'organizations'),
    )
    await until('the notice to the members', () => others.changes.some(({ topic }) => topic === 'members'))
    await until('the notice of a project to the newcomer', async () => {
      await hub.project(ada, organizationId)
      return console.changes.some(({ topic }) => topic === 'projects')
    })
  })

  it('adds an administrator with `isAdmin: true`', async () => {
    const newcomer = await hub.user()
    await admin.invoke('organizations_AddMember', { organizationId, userId: newcomer.userId, isAdmin: true })
    expect(await roleOf(newcomer)).toBe('Admin')
  })

  it('refuses an existing member and does not change their role', async () => {
    const again = admin.invoke('organizations_AddMember', {
      organizationId,
      userId: grace.userId,
      isAdmin: true,
    })
    await expect(again).rejects.toMatchObject({
      kind: 'Invalid',
      message: 'This person is already a member of the organization.',
    })
    expect(await roleOf(grace)).toBe('Member')
    expect(await auditRows(hub, 'organizations_AddMember')).toMatchObject([{ status: 'Failed' }])
  })

  it('refuses an absent account and an absent organization', async () => {
    const userId = newId('u')
    await expect(admin.invoke('organizations_AddMember', { organizationId, userId })).rejects.toMatchObject({
      kind: 'Invalid',
      message: `userId: there is no account ${userId}.`,
    })
    const nowhere = { organizationId: newId('org'), userId: grace.userId }
    await expect(admin.invoke('organizations_AddMember', nowhere)).rejects.toMatchObject(NOT_PERMITTED)
  })

  it('adds a person once for ten calls at once', async () => {
    const newcomer = await hub.user()
    const input = { organizationId, userId: newcomer.userId }
    const outcomes = await outcomesOf(10, () => admin.invoke('organizations_AddMember', input))
    expect(outcomes.sort()).toEqual([...Array(9).fill('Invalid'), 'ok'])
    expect(await auditEvents(hub, 'organizations_MemberAdded')).toHaveLength(1)
  })
})

describe('organizations_SetMemberIsAdmin', () => {
  it('promotes a member and demotes an administrator', async () => {
    await using console = await liveStream(hub, grace)
    await ada.invoke('organizations_SetMemberIsAdmin', {
      organizationId,
      userId: grace.userId,
      isAdmin: true,
    })
    expect(await roleOf(grace)).toBe('Admin')
    await grace.invoke('organizations_SetMemberIsAdmin', {
      organizationId,
      userId: ada.userId,
      isAdmin: false,
    })
    expect(await roleOf(ada)).toBe('Member')
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'organizations_MemberAdminStatusChanged',
        data: { organizationId, userId: grace.userId, isAdmin: true },
      },
      {
        event: 'organizations_MemberAdminStatusChanged',
        data: { organizationId, userId: ada.userId, isAdmin: false },
      },
    ])
    await until('the notice of the roles', () => console.changes.some(({ topic }) => topic === 'members'))
    // A demoted administrator loses the rights of the role immediately.
    const again = ada.invoke('organizations_SetName', { organizationId, name: 'Still mine' })
    await expect(again).rejects.toMatchObject(NOT_PERMITTED)
  })

  it('changes and audits nothing when a member already has the role', async () => {
    for (const { userId, isAdmin } of [
      { userId: ada.userId, isAdmin: true },
      { userId: grace.userId, isAdmin: false },
    ])
      expect(await ada.invoke('organizations_SetMemberIsAdmin', { organizationId, userId, isAdmin })).toEqual(
        {},
      )
    expect(await auditEvents(hub)).toEqual([])
  })

  it('refuses to demote the last administrator, for every caller', async () => {
    for (const person of [ada, admin]) {
      const demoting = person.invoke('organizations_SetMemberIsAdmin', {
        organizationId,
        userId: ada.userId,
        isAdmin: false,
      })
      await expect(demoting).rejects.toMatchObject({ kind: 'Invalid', status: 409, message: LAST })
    }
    expect(await roleOf(ada)).toBe('Admin')
  })

  it('gives the same answer for people of other organizations and for absent accounts', async () => {
    await expectNoMember('organizations_SetMemberIsAdmin', { isAdmin: true })
  })
})

describe('organizations_RemoveMember', () => {
  it('ends the access of a member at once, and only to this organization', async () => {
    const projectId = await hub.project(ada, organizationId)
    const own = await hub.organization(grace)
    const token = hub.withToken(await hub.userToken(grace))
    await using console = await liveStream(hub, grace)
    await hub.db.deleteFrom('audit_event').execute()
    expect((await token('projects_GetDetails', { projectId })).name).toBe('Test project')

    expect(await ada.invoke('organizations_RemoveMember', { organizationId, userId: grace.userId })).toEqual(
      {},
    )

    for (const invoke of [grace.invoke, token]) {
      await expect(invoke('projects_GetDetails', { projectId })).rejects.toMatchObject(NOT_PERMITTED)
      const { projects } = await invoke('projects_Query', {})
      expect(projects.map(project => project.projectId)).not.toContain(projectId)
      const { organizations } = await invoke('organizations_Query', {})
      const organizationIds = organizations.map(organization => organization.organizationId)
      expect(organizationIds).toContain(own)
      expect(organizationIds).not.toContain(organizationId)
    }
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'organizations_MemberRemoved',
        data: { organizationId, userId: grace.userId },
        organizationId,
      },
    ])
    await until('the notice of the removal', () =>
      console.changes.some(({ topic }) => topic === 'organizations'),
    )
    // Waits until Grace's live stream sends a change in her other organization (`own`). By then the stream has unsubscribed from
    // `organizationId`.
    console.changes.length = 0
    await until('a later change in the other organization', async () => {
      await hub.project(ada, organizationId)
      await hub.project(grace, own)
      return console.changes.some(change => change.topic === 'projects' && change.organizationId === own)
    })
    console.changes.length = 0
    await hub.project(ada, organizationId)
    await until('a later change in the other organization', async () => {
      await hub.project(grace, own)
      return console.changes.some(change => change.organizationId === own)
    })
    expect(console.changes.filter(change => change.organizationId === organizationId)).toEqual([])
  })

  it('lets a member leave but not remove other members', async () => {
    const other = await hub.user()
    await admin.invoke('organizations_AddMember', { organizationId, userId: other.userId })
    for (const { userId } of [other, ada]) {
      const removing = grace.invoke('organizations_RemoveMember', { organizationId, userId })
      await expect(removing).rejects.toMatchObject(NOT_PERMITTED)
    }
    await grace.invoke('organizations_RemoveMember', { organizationId, userId: grace.userId })
    expect(await roleOf(grace)).toBeUndefined()
    expect(await roleOf(other)).toBe('Member')
  })

  it('refuses a person who removes themself without being a member', async () => {
    const otherTenant = await hub.user()
    const { userId } = otherTenant
    const leaving = otherTenant.invoke('organizations_RemoveMember', { organizationId, userId })
    await expect(leaving).rejects.toMatchObject(NOT_PERMITTED)
  })

  it('refuses to remove the last administrator, for every caller', async () => {
    for (const person of [ada, admin]) {
      const removing = person.invoke('organizations_RemoveMember', { organizationId, userId: ada.userId })
      await expect(removing).rejects.toMatchObject({ kind: 'Invalid', status: 409, message: LAST })
    }
    await ada.invoke('organizations_SetMemberIsAdmin', {
      organizationId,
      userId: grace.userId,
      isAdmin: true,
    })
    await ada.invoke('organizations_RemoveMember', { organizationId, userId: ada.userId })
    expect(await roleOf(ada)).toBeUndefined()
  })

  it('gives the same answer for people of other organizations and for absent accounts', async () => {
    await expectNoMember('organizations_RemoveMember', {})
  })

  it('removes a person once for ten calls at once', async () => {
    const input = { organizationId, userId: grace.userId }
    const outcomes = await outcomesOf(10, () => ada.invoke('organizations_RemoveMember', input))
    expect(outcomes.sort()).toEqual([...Array(9).fill('Invalid'), 'ok'])
    expect(await auditEvents(hub, 'organizations_MemberRemoved')).toHaveLength(1)
  })
})

describe('concurrent changes of all administrators', () => {
  const COUNT = 6
  let administrators: TestUser[]

  beforeAll(async () => {
    administrators = [ada, ...(await Promise.all(Array.from({ length: COUNT - 1 }, () => hub.user())))]
  })
  beforeEach(async () => {
    for (const { userId } of administrators.slice(1))
      await admin.invoke('organizations_AddMember', { organizationId, userId, isAdmin: true })
  })

  const removing = (who: TestUser, { userId }: TestUser) =>
    who.invoke('organizations_RemoveMember', { organizationId, userId })
  const demoting = (who: TestUser, { userId }: TestUser) =>
    who.invoke('organizations_SetMemberIsAdmin', { organizationId, userId, isAdmin: false })

  it.each([
    ['all leave', (one: TestUser) => removing(one, one)],
    ['all step down', (one: TestUser) => demoting(one, one)],
    ['an administrator of the instance removes all', (one: TestUser) => removing(admin, one)],
    ['half leave, half step down', (one: TestUser, i: number) => (i % 2 ? removing : demoting)(one, one)],
  ] as const)('leave one administrator when %s', async (_what, go) => {
    const outcomes = await Promise.all(administrators.map((one, index) => outcomeOf(go(one, index))))
    expect(outcomes.sort()).toEqual(['Invalid', ...Array(COUNT - 1).fill('ok')])
    expect(await administratorCount()).toBe(1)
  })

  it.each([
    ['removes', removing],
    ['demotes', demoting],
  ] as const)('leave at least one administrator when each %s all others', async (_what, act) => {
    const pairs = administrators.flatMap(who =>
      administrators.filter(other => other !== who).map(other => [who, other] as const),
    )
    const outcomes = await Promise.all(pairs.map(([who, other]) => outcomeOf(act(who, other))))
    for (const outcome of outcomes) expect(['ok', 'Invalid', 'Forbidden']).toContain(outcome)
    expect(await administratorCount()).toBeGreaterThanOrEqual(1)
  })

  it('do not block a concurrent deletion of the organization', async () => {
    const outcomes = await Promise.all([
      ...administrators.slice(1).map(one => outcomeOf(removing(one, one))),
      outcomeOf(ada.invoke('organizations_Delete', { organizationId })),
    ])
    expect(outcomes.at(-1)).toBe('ok')
    for (const outcome of outcomes) expect(['ok', 'Forbidden']).toContain(outcome)
    expect(await administratorCount()).toBe(0)
  })

  it('leave one finished audit row each, none of them Pending or Panicked', async () => {
    await hub.db.deleteFrom('audit_action').execute()
    await Promise.all(administrators.map(one => outcomeOf(removing(one, one))))
    const rows = await auditRows(hub, 'organizations_RemoveMember')
    const statuses = rows.map(({ status }) => status).sort()
    expect(statuses).toEqual(['Failed', ...Array(COUNT - 1).fill('Succeeded')])
  })
})

async function roleOf({ userId }: TestUser): Promise<'Admin' | 'Member' | undefined> {
  const { members } = await admin.invoke('organizations_QueryMembers', { organizationId })
  const member = members.find(one => one.userId === userId)
  return member && (member.isAdmin ? 'Admin' : 'Member')
}

async function administratorCount(): Promise<number> {
  const rows = await hub.db
    .selectFrom('organization_member')
    .where('organization_id', '=', organizationId)
    .where('is_admin', '=', true)
    .select('user_id')
    .execute()
  return rows.length
}

function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'ok',
    (error: { kind: string }) => error.kind,
  )
}

function outcomesOf(count: number, call: () => Promise<unknown>): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => outcomeOf(call())))
}

/** Asserts that calls for a member of another organization and for an absent account get the same answer. */
async function expectNoMember(
  name: 'organizations_SetMemberIsAdmin' | 'organizations_RemoveMember',
  more: object,
): Promise<void> {
  const otherTenant = await hub.user()
  await hub.organization(otherTenant)
  const answers = await Promise.all(
    [otherTenant.userId, newId('u')].map(userId =>
      ask(hub, `/api/v1/actions/invoke/${name}`, { as: ada, body: { organizationId, userId, ...more } }),
    ),
  )
  for (const { status, json } of answers) {
    expect(status).toBe(404)
    expect(json()).toMatchObject({
      kind: 'Invalid',
      message: 'This person is not a member of the organization.',
    })
  }
}
