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
/** Names as people give them, and as nobody should. */
const ODD_NAMES = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  'مرحبا بالعالم',
  'שלום \u202eabc',
  '👩‍🚀 Weltraum',
  "Robert'); drop table organization; --",
  '{{7*7}} %s',
  'x'.repeat(128),
  '😀'.repeat(128),
]

let hub: TestHub
/** Administrator and member of the organization of each test, and an administrator of the instance. */
let ada: TestUser
let grace: TestUser
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
  it('renames it for everybody, on the record', async () => {
    await using console = await liveStream(hub, grace)
    expect(await ada.invoke('organizations_SetName', { organizationId, name: '  Harbour ' })).toEqual({})
    const { organizations } = await grace.invoke('users_QueryOrganizations', { userId: grace.userId })
    expect(organizations).toContainEqual({ organizationId, name: 'Harbour', requiresSubscription: false })
    expect(await auditEvents(hub)).toMatchObject([
      { event: 'organizations_NameChanged', data: { organizationId, name: 'Harbour' }, organizationId },
    ])
    await until('it is told', () => console.changes.some(({ topic }) => topic === 'organizations'))
  })

  it.each(ODD_NAMES)('keeps %j as it is', async name => {
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
  ])('refuses %j in words', async (name, message) => {
    await expect(ada.invoke('organizations_SetName', { organizationId, name })).rejects.toMatchObject({
      kind: 'Invalid',
      issues: [{ path: 'name', message }],
    })
  })
})

describe('organizations_QueryMembers', () => {
  it('tells each member with their role in this organization, and nothing more', async () => {
    const { members } = await grace.invoke('organizations_QueryMembers', { organizationId })
    expect(members).toEqual([
      { userId: ada.userId, displayName: 'Ada', email: ada.email, isAdmin: true },
      { userId: grace.userId, displayName: 'Grace', email: grace.email, isAdmin: false },
    ])
  })

  it('tells the role in the organization, not the one in the instance', async () => {
    await admin.invoke('organizations_AddMember', { organizationId, userId: admin.userId })
    const { members } = await ada.invoke('organizations_QueryMembers', {
      organizationId,
      filter: { text: admin.email },
    })
    expect(members).toEqual([{ userId: admin.userId, email: admin.email, isAdmin: false }])
  })

  it('is on the record when an administrator of the instance looks at an organization of others', async () => {
    await admin.invoke('organizations_QueryMembers', { organizationId })
    expect(await auditRows(hub)).toMatchObject([
      { action: 'organizations_QueryMembers', data: { organizationId }, status: 'Succeeded' },
    ])
  })
})

describe('organizations_QueryRepositories', () => {
  it('tells each by all the names that clients know it by', async () => {
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
  })
})

describe('organizations_AddMember', () => {
  it('uses an open invitation up, which would let them in again', async () => {
    const newcomer = await hub.user()
    const email = newcomer.email.toUpperCase()
    const { invitationId } = await ada.invoke('organizations_InviteMember', { organizationId, email })
    await using console = await liveStream(hub, newcomer)
    await admin.invoke('organizations_AddMember', { organizationId, userId: newcomer.userId })
    await ada.invoke('organizations_RemoveMember', { organizationId, userId: newcomer.userId })
    const joining = newcomer.invoke('users_AcceptOrganizationInvitation', { invitationId })
    await expect(joining).rejects.toMatchObject(NOT_PERMITTED)
    await until('they are told', () => console.changes.some(({ topic }) => topic === 'invitations'))
  })

  it('adds an account without an invitation, on the record and before the eyes of their console', async () => {
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
    await until('the newcomer is told', () => console.changes.some(({ topic }) => topic === 'organizations'))
    await until('the others are told', () => others.changes.some(({ topic }) => topic === 'members'))
    await until('the newcomer hears of what happens in it', async () => {
      await hub.project(ada, organizationId)
      return console.changes.some(({ topic }) => topic === 'projects')
    })
  })

  it('adds an administrator when told so', async () => {
    const newcomer = await hub.user()
    await admin.invoke('organizations_AddMember', { organizationId, userId: newcomer.userId, isAdmin: true })
    expect(await roleOf(newcomer)).toBe('Admin')
  })

  it('refuses who is a member already, and changes no role', async () => {
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

  it('refuses an account that is not there, and an organization that is not there', async () => {
    const userId = newId('u')
    await expect(admin.invoke('organizations_AddMember', { organizationId, userId })).rejects.toMatchObject({
      kind: 'Invalid',
      message: `userId: there is no account ${userId}.`,
    })
    const nowhere = { organizationId: newId('org'), userId: grace.userId }
    await expect(admin.invoke('organizations_AddMember', nowhere)).rejects.toMatchObject(NOT_PERMITTED)
  })

  it('adds somebody once when asked many times at once', async () => {
    const newcomer = await hub.user()
    const input = { organizationId, userId: newcomer.userId }
    const outcomes = await outcomesOf(10, () => admin.invoke('organizations_AddMember', input))
    expect(outcomes.sort()).toEqual([...Array(9).fill('Invalid'), 'ok'])
    expect(await auditEvents(hub, 'organizations_MemberAdded')).toHaveLength(1)
  })
})

describe('organizations_SetMemberIsAdmin', () => {
  it('makes an administrator of a member, and a member of an administrator', async () => {
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
    await until('it is told', () => console.changes.some(({ topic }) => topic === 'members'))
    // What the role allowed is over with it.
    const again = ada.invoke('organizations_SetName', { organizationId, name: 'Still mine' })
    await expect(again).rejects.toMatchObject(NOT_PERMITTED)
  })

  it('changes nothing, and records nothing, for a role that a member has already', async () => {
    for (const { userId, isAdmin } of [
      { userId: ada.userId, isAdmin: true },
      { userId: grace.userId, isAdmin: false },
    ])
      expect(await ada.invoke('organizations_SetMemberIsAdmin', { organizationId, userId, isAdmin })).toEqual(
        {},
      )
    expect(await auditEvents(hub)).toEqual([])
  })

  it('leaves the last administrator their role, whoever asks', async () => {
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

  it('says no more of people elsewhere than of nobody', async () => {
    await expectNoMember('organizations_SetMemberIsAdmin', { isAdmin: true })
  })
})

describe('organizations_RemoveMember', () => {
  it('removes a member at once from everything that they saw, and from no other organization', async () => {
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
    await until('it is told', () => console.changes.some(({ topic }) => topic === 'organizations'))
    // The stream has left the organization before what happens in another is told.
    console.changes.length = 0
    await until('the stream goes on', async () => {
      await hub.project(ada, organizationId)
      await hub.project(grace, own)
      return console.changes.some(change => change.topic === 'projects' && change.organizationId === own)
    })
    console.changes.length = 0
    await hub.project(ada, organizationId)
    await until('the stream goes on', async () => {
      await hub.project(grace, own)
      return console.changes.some(change => change.organizationId === own)
    })
    expect(console.changes.filter(change => change.organizationId === organizationId)).toEqual([])
  })

  it('lets a member leave, and remove nobody else', async () => {
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

  it('does not take one’s own name for a membership', async () => {
    const stranger = await hub.user()
    const { userId } = stranger
    const leaving = stranger.invoke('organizations_RemoveMember', { organizationId, userId })
    await expect(leaving).rejects.toMatchObject(NOT_PERMITTED)
  })

  it('keeps the last administrator, whoever asks', async () => {
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

  it('says no more of people elsewhere than of nobody', async () => {
    await expectNoMember('organizations_RemoveMember', {})
  })

  it('removes somebody once when asked many times at once', async () => {
    const input = { organizationId, userId: grace.userId }
    const outcomes = await outcomesOf(10, () => ada.invoke('organizations_RemoveMember', input))
    expect(outcomes.sort()).toEqual([...Array(9).fill('Invalid'), 'ok'])
    expect(await auditEvents(hub, 'organizations_MemberRemoved')).toHaveLength(1)
  })
})

describe('administrators who go at once', () => {
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
    ['the instance removes them all', (one: TestUser) => removing(admin, one)],
    ['half leave, half step down', (one: TestUser, i: number) => (i % 2 ? removing : demoting)(one, one)],
  ] as const)('leave one when %s', async (_what, go) => {
    const outcomes = await Promise.all(administrators.map((one, index) => outcomeOf(go(one, index))))
    expect(outcomes.sort()).toEqual(['Invalid', ...Array(COUNT - 1).fill('ok')])
    expect(await administratorCount()).toBe(1)
  })

  it.each([
    ['removes', removing],
    ['demotes', demoting],
  ] as const)('leave at least one when each %s all the others', async (_what, act) => {
    const pairs = administrators.flatMap(who =>
      administrators.filter(other => other !== who).map(other => [who, other] as const),
    )
    const outcomes = await Promise.all(pairs.map(([who, other]) => outcomeOf(act(who, other))))
    for (const outcome of outcomes) expect(['ok', 'Invalid', 'Forbidden']).toContain(outcome)
    expect(await administratorCount()).toBeGreaterThanOrEqual(1)
  })

  it('leave the organization valid, or gone, when one deletes it meanwhile', async () => {
    const outcomes = await Promise.all([
      ...administrators.slice(1).map(one => outcomeOf(removing(one, one))),
      outcomeOf(ada.invoke('organizations_Delete', { organizationId })),
    ])
    expect(outcomes.at(-1)).toBe('ok')
    for (const outcome of outcomes) expect(['ok', 'Forbidden']).toContain(outcome)
    expect(await administratorCount()).toBe(0)
  })

  it('leave an audit row each, none of them open or panicked', async () => {
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

/** The same answer for somebody of another organization and for nobody at all. */
async function expectNoMember(
  name: 'organizations_SetMemberIsAdmin' | 'organizations_RemoveMember',
  more: object,
): Promise<void> {
  const stranger = await hub.user()
  await hub.organization(stranger)
  const answers = await Promise.all(
    [stranger.userId, newId('u')].map(userId =>
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
