import {
  type Action,
  type ActionName,
  actions,
  MAX_CURSOR_LENGTH,
  MAX_EMAIL_LENGTH,
  newDatedId,
  newId,
  publicIdOf,
} from '@muster/actions'
import { assetRow, deviceRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { hashSecret } from '../secrets.ts'

type Item = Record<string, unknown>
type Answer = { items: Item[]; nextCursor: string | undefined; total: number | undefined }
type Ask = { limit?: number; cursor?: string; sort?: string; filter?: object }

/** A list: where its items and their ids are, and how one more is made. */
type List = {
  items: string
  id: string
  /** What can be sorted by, as the items tell it. */
  sorts: Record<string, (item: Item) => string | number | boolean>
  defaultSort: string
  /** Whether a filter by text finds names. */
  hasText: boolean
  /** Field of an item that holds the name, `name` unless told otherwise. */
  named?: string
  /** Logs count nothing: they may have millions of rows. */
  hasNoTotal?: boolean
  /** Whose list it is: the owner's unless it is for administrators of the instance. */
  asks?: 'administrator'
  scope: () => object
  add: (name: string, index: number) => Promise<void>
}

const NAMES = [
  'Gate',
  'gate',
  'Gate',
  'gate 10',
  'gate 9',
  '100 %',
  'a_b',
  'aXb',
  'back\\slash',
  "O'Neil",
  'ärger',
  'zebra',
  'Zebra',
  '漢字',
  '😀',
  'q"uote',
  '  inner  blanks',
  'tab',
  'x'.repeat(128),
]
const COUNT = NAMES.length

let hub: TestHub
let owner: TestUser
let administrator: TestUser
let organizationId: string
let projectId: string
let deviceId: string
let repositoryId: string
let packageId: string

const text = (field: string) => (item: Item) => (item[field] ?? '') as string
const time = (field: string) => (item: Item) => Date.parse(item[field] as string)

/** Not so old that retention takes it away. */
const FIRST_MS = Math.floor(Date.now() / 1000) * 1000 - 24 * 60 * 60 * 1000
/** Every second item shares its time with the one before, so that ids decide. */
const timeOf = (index: number): Date => new Date(FIRST_MS + Math.floor(index / 2) * 1000)

const LISTS: Partial<Record<ActionName, List>> = {
  organizations_Query: {
    items: 'organizations',
    id: 'organizationId',
    sorts: { name: text('name') },
    defaultSort: 'name',
    hasText: true,
    scope: () => ({}),
    add: async name => {
      const organization_id = newId('org')
      await hub.db.insertInto('organization').values({ organization_id, name }).execute()
      await hub.db
        .insertInto('organization_member')
        .values({ organization_id, user_id: owner.userId })
        .execute()
    },
  },
  organizations_QueryProjects: {
    items: 'projects',
    id: 'projectId',
    sorts: { name: text('name'), createdAt: item => createdAt.get(item.projectId as string)! },
    defaultSort: 'name',
    hasText: true,
    scope: () => ({ organizationId }),
    add: addProject,
  },
  projects_Query: {
    items: 'projects',
    id: 'projectId',
    sorts: { name: text('name') },
    defaultSort: 'name',
    hasText: true,
    scope: () => ({}),
    // The same projects as above.
    add: async () => {},
  },
  projects_QueryDevices: {
    items: 'devices',
    id: 'deviceId',
    sorts: {
      name: text('name'),
      deviceId: text('deviceId'),
      firstSeen: time('firstSeen'),
      status: item => item.isConnected as boolean,
      pendingCertificatesCount: item => item.pendingCertificatesCount as number,
    },
    defaultSort: 'firstSeen',
    hasText: true,
    scope: () => ({ projectId }),
    add: async (name, index) => {
      await deviceRow(hub, projectId, {
        name: index === 3 ? null : name,
        firstSeen: timeOf(index),
        isConnected: index % 3 === 0,
        pendingCertificates: index % 4,
      })
    },
  },
  projects_QueryDeploymentTokens: {
    items: 'tokens',
    id: 'tokenId',
    sorts: { name: text('name'), createdAt: time('createdAt') },
    defaultSort: '-createdAt',
    hasText: true,
    scope: () => ({ projectId }),
    add: async (name, index) => {
      const token = newId('deployment')
      await hub.db
        .insertInto('deployment_token')
        .values({
          token_id: publicIdOf(token),
          token_hash: hashSecret(token),
          project_id: projectId,
          name,
          created_at: timeOf(index),
        })
        .execute()
    },
  },
  devices_Query: {
    items: 'devices',
    id: 'deviceId',
    sorts: { deviceId: text('deviceId') },
    defaultSort: 'deviceId',
    hasText: false,
    scope: () => ({}),
    // The same devices as above.
    add: async () => {},
  },
  devices_QueryPropertyHistory: {
    items: 'changes',
    id: 'version',
    sorts: { changedAt: time('changedAt') },
    defaultSort: '-changedAt',
    hasText: false,
    hasNoTotal: true,
    scope: () => ({ deviceId, name: 'site' }),
    add: async (name, index) => {
      await hub.db
        .insertInto('device_property_change')
        .values({
          device_id: deviceId,
          name: 'site',
          version: propertyVersion++,
          value: JSON.stringify(name),
          actor: JSON.stringify({ actor: 'System' }),
          changed_at: timeOf(index),
        })
        .execute()
    },
  },
  users_Query: {
    items: 'users',
    id: 'userId',
    sorts: {
      createdAt: time('createdAt'),
      email: text('email'),
      displayName: item => text('displayName')(item).toString().toLowerCase(),
    },
    defaultSort: '-createdAt',
    hasText: true,
    named: 'displayName',
    asks: 'administrator',
    scope: () => ({}),
    // The same people as the members below.
    add: async () => {},
  },
  users_QueryOrganizationInvitations: {
    items: 'invitations',
    id: 'invitationId',
    sorts: { createdAt: item => createdAt.get(item.invitationId as string)! },
    defaultSort: '-createdAt',
    hasText: false,
    scope: () => ({ userId: owner.userId }),
    add: async (name, index) => {
      const organization_id = newId('org')
      await hub.db.insertInto('organization').values({ organization_id, name }).execute()
      await addInvitation(organization_id, owner.email.toUpperCase(), index)
    },
  },
  users_QuerySessions: {
    items: 'sessions',
    id: 'sessionId',
    sorts: { createdAt: time('createdAt'), expiresAt: time('expiresAt') },
    defaultSort: '-createdAt',
    hasText: false,
    scope: () => ({ userId: owner.userId }),
    add: async (name, index) => {
      const secret = newId('u_session_sk')
      await hub.db
        .insertInto('session')
        .values({
          session_id: publicIdOf(secret),
          token_hash: hashSecret(secret),
          user_id: owner.userId,
          user_agent: name,
          created_at: timeOf(index),
          expires_at: new Date(FIRST_MS + 48 * 60 * 60 * 1000 + 1000 * Math.floor(index / 2)),
        })
        .execute()
    },
  },
  users_QueryTokens: {
    items: 'tokens',
    id: 'tokenId',
    sorts: { createdAt: time('createdAt'), name: text('name') },
    defaultSort: '-createdAt',
    hasText: true,
    scope: () => ({ userId: owner.userId }),
    add: async (name, index) => {
      const secret = newId('u_sk')
      await hub.db
        .insertInto('user_token')
        .values({
          token_id: publicIdOf(secret),
          token_hash: hashSecret(secret),
          user_id: owner.userId,
          name,
          created_at: timeOf(index),
        })
        .execute()
    },
  },
  organizations_QueryMembers: {
    items: 'members',
    id: 'userId',
    sorts: { name: item => (item.displayName ?? item.email) as string, email: text('email') },
    defaultSort: 'name',
    hasText: true,
    named: 'displayName',
    scope: () => ({ organizationId }),
    add: async (name, index) => {
      const user_id = await addUser(name, index)
      await hub.db
        .insertInto('organization_member')
        .values({ organization_id: organizationId, user_id })
        .execute()
    },
  },
  organizations_QueryInvitations: {
    items: 'invitations',
    id: 'invitationId',
    sorts: { createdAt: item => createdAt.get(item.invitationId as string)!, email: text('email') },
    defaultSort: '-createdAt',
    // An address is invited once, so there are no names alike.
    hasText: false,
    scope: () => ({ organizationId }),
    add: (_name, index) => addInvitation(organizationId, `${newId('u')}@test.example`, index),
  },
  organizations_QueryRepositories: {
    items: 'repositories',
    id: 'repositoryId',
    sorts: { name: text('name'), createdAt: item => createdAt.get(item.repositoryId as string)! },
    defaultSort: 'name',
    hasText: true,
    scope: () => ({ organizationId }),
    add: addRepository,
  },
  repositories_QueryPackages: {
    items: 'packages',
    id: 'packageId',
    sorts: { name: text('name'), createdAt: time('createdAt') },
    defaultSort: 'name',
    // A name is given once in a repository.
    hasText: false,
    scope: () => ({ repositoryId }),
    add: async (_name, index) => {
      await hub.db
        .insertInto('package')
        .values({
          package_id: newId('pkg'),
          repository_id: repositoryId,
          name: `${index % 2 ? 'P' : 'p'}-${newId('pkg')}`,
          created_at: timeOf(index),
        })
        .execute()
    },
  },
  repositories_QueryAssets: {
    items: 'assets',
    id: 'assetId',
    sorts: { createdAt: time('createdAt'), size: item => item.size as number },
    defaultSort: '-createdAt',
    hasText: false,
    scope: () => ({ repositoryId }),
    add: async (_name, index) => {
      await assetRow(hub, repositoryId, {
        // Beside 10, so that sizes are in order as numbers and not as texts; some beyond 32 bits.
        size: index % 3 ? 8 + index : 2 ** 40 + index,
        createdAt: timeOf(index),
      })
    },
  },
  repositories_QueryPackageVersions: {
    items: 'versions',
    id: 'versionId',
    sorts: { createdAt: time('createdAt') },
    defaultSort: '-createdAt',
    hasText: true,
    scope: () => ({ packageId }),
    add: async (name, index) => {
      await hub.db
        .insertInto('package_version')
        .values({ version_id: newId('pkg_v'), package_id: packageId, name, created_at: timeOf(index) })
        .execute()
    },
  },
  repositories_QueryLinkedProjects: {
    items: 'projects',
    id: 'projectId',
    sorts: { name: text('name') },
    defaultSort: 'name',
    hasText: true,
    scope: () => ({ repositoryId }),
    // The same projects as above.
    add: async () => {
      await hub.pool.query(
        `insert into project_repository (project_id, repository_id)
         select project_id, $1 from project where organization_id = $2 on conflict do nothing`,
        [repositoryId, organizationId],
      )
    },
  },
  projects_QueryLinkedRepositories: {
    items: 'repositories',
    id: 'repositoryId',
    sorts: { name: text('name') },
    defaultSort: 'name',
    hasText: true,
    scope: () => ({ projectId }),
    // The same repositories as above.
    add: async () => {
      await hub.pool.query(
        `insert into project_repository (project_id, repository_id)
         select $1, repository_id from repository where organization_id = $2 on conflict do nothing`,
        [projectId, organizationId],
      )
    },
  },
  audit_QueryAuditLogEvents: {
    ...eventList(() => ({})),
    asks: 'administrator',
    scope: () => ({}),
  },
  audit_QueryAuditLogActions: {
    items: 'actions',
    id: 'actionId',
    sorts: { createdAt: time('createdAt') },
    defaultSort: '-createdAt',
    hasText: false,
    hasNoTotal: true,
    asks: 'administrator',
    scope: () => ({}),
    add: async (_name, index) => {
      await hub.db
        .insertInto('audit_action')
        .values({
          action_id: newDatedId('audit_act', timeOf(index)),
          action: 'projects_SetName',
          actor: JSON.stringify({ actor: 'System' }),
          data: '{}',
          status: 'Succeeded',
          node_id: hub.nodeId,
          request_id: 'test',
          created_at: timeOf(index),
          finished_at: timeOf(index),
        })
        .execute()
    },
  },
  organizations_QueryAuditLog: {
    ...eventList(() => ({ organization_id: organizationId })),
    scope: () => ({ organizationId }),
  },
  projects_QueryAuditLog: {
    ...eventList(() => ({ project_id: projectId })),
    scope: () => ({ projectId }),
  },
  repositories_QueryAuditLog: {
    ...eventList(() => ({ repository_id: repositoryId })),
    scope: () => ({ repositoryId }),
  },
  devices_QueryAuditLog: {
    ...eventList(() => ({ device_id: deviceId })),
    scope: () => ({ deviceId }),
  },
}
/** Jobs come and go by themselves: their list is looked at in `instance.test.ts`. */
const OTHER_LISTS: ActionName[] = ['jobs_Query']

const createdAt = new Map<string, number>()
/** Beside 10, so that versions are in order as numbers and not as texts. */
let propertyVersion = 8

function eventList(of: () => object): Omit<List, 'scope'> {
  return {
    items: 'events',
    id: 'eventId',
    sorts: { createdAt: time('createdAt') },
    defaultSort: '-createdAt',
    hasText: false,
    hasNoTotal: true,
    add: async (_name, index) => {
      await hub.db
        .insertInto('audit_event')
        .values({
          event_id: newDatedId('audit_ev', timeOf(index)),
          event: 'projects_NameChanged',
          actor: JSON.stringify({ actor: 'System' }),
          data: '{}',
          created_at: timeOf(index),
          ...of(),
        })
        .execute()
    },
  }
}

async function addUser(name: string, index: number): Promise<string> {
  const user_id = newId('u')
  await hub.db
    .insertInto('user')
    .values({ user_id, email: `${user_id}@test.example`, display_name: name, created_at: timeOf(index) })
    .execute()
  return user_id
}

async function addInvitation(organization_id: string, email: string, index: number): Promise<void> {
  const invitation_id = newId('org_invite')
  createdAt.set(invitation_id, timeOf(index).getTime())
  await hub.db
    .insertInto('organization_invitation')
    .values({ invitation_id, organization_id, email, created_at: timeOf(index) })
    .execute()
}

async function addRepository(name: string, index: number): Promise<void> {
  const repository_id = newId('repo')
  createdAt.set(repository_id, timeOf(index).getTime())
  await hub.db
    .insertInto('repository')
    .values({
      repository_id,
      organization_id: organizationId,
      display_name: name,
      created_at: timeOf(index),
    })
    .execute()
}

async function addProject(name: string, index: number): Promise<void> {
  const project_id = newId('p')
  createdAt.set(project_id, timeOf(index).getTime())
  await hub.db
    .insertInto('project')
    .values({ project_id, organization_id: organizationId, name, created_at: timeOf(index) })
    .execute()
}

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  administrator = await hub.user({ isAdmin: true })
  const home = newId('org')
  await hub.db.insertInto('organization').values({ organization_id: home, name: 'home' }).execute()
  await hub.db
    .insertInto('organization_member')
    .values({ organization_id: home, user_id: owner.userId })
    .execute()
  organizationId = home
  projectId = await hub.project(owner, home, 'home')
  deviceId = await deviceRow(hub, projectId, { name: 'home' })
  await addRepository('home', NAMES.length)
  const repository = await hub.db.selectFrom('repository').select('repository_id').executeTakeFirstOrThrow()
  repositoryId = repository.repository_id
  packageId = await hub.package(owner, repositoryId, 'home')
  for (const list of Object.values(LISTS))
    for (const [index, name] of NAMES.entries()) await list.add(name, index)
  // Somebody else's things, which no list may show.
  const stranger = await hub.user()
  const strange = await hub.project(stranger, await hub.organization(stranger), 'Gate')
  await hub.token(stranger, strange)
  await deviceRow(hub, strange, { name: 'Gate' })
  createdAt.set(projectId, Date.now())
})
afterAll(() => hub[Symbol.asyncDispose]())

async function asked(name: ActionName, { items, asks, scope }: List, input: Ask = {}): Promise<Answer> {
  const person = asks === 'administrator' ? administrator : owner
  const output = (await person.invoke(name, { ...scope(), ...input } as never)) as unknown as Record<
    string,
    unknown
  >
  const { nextCursor, total } = output as { nextCursor?: string; total?: number }
  return { items: output[items] as Item[], nextCursor, total }
}

async function* pages(name: ActionName, list: List, input: Ask): AsyncGenerator<Answer> {
  for (let cursor: string | undefined; ; ) {
    const page = await asked(name, list, { ...input, ...(cursor !== undefined && { cursor }) })
    yield page
    if (page.nextCursor === undefined) return
    cursor = page.nextCursor
  }
}

async function all<T>(generator: AsyncGenerator<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of generator) items.push(item)
  return items
}

const lists = Object.entries(LISTS) as [ActionName, List][]
const sorted = lists.flatMap(([name, list]) =>
  Object.keys(list.sorts).map(sort => [name, sort, list] as const),
)

it('looks at every list that there is', () => {
  const isList = ({ input }: Action): boolean => 'sort' in (input as z.ZodObject).shape
  const known = (Object.entries(actions) as [ActionName, Action][]).filter(([, action]) => isList(action))
  expect([...lists.map(([name]) => name), ...OTHER_LISTS].sort()).toEqual(known.map(([name]) => name).sort())
})

describe.each(lists)('%s', (name, list) => {
  it('answers a bare call with the whole list, in its own order, and says nothing of pages', async () => {
    const { items, nextCursor, total } = await asked(name, list)
    expect(items.length).toBeGreaterThanOrEqual(COUNT)
    expect(nextCursor).toBeUndefined()
    expect(total).toBeUndefined()
    expect(await asked(name, list, { sort: list.defaultSort })).toEqual({ items, nextCursor, total })
  })

  it('has each item once', async () => {
    const { items } = await asked(name, list)
    expect(new Set(items.map(item => item[list.id])).size).toBe(items.length)
  })

  it('counts what matches on the first page, unless it is a log', async () => {
    const { items } = await asked(name, list)
    for (const limit of [1, 4, items.length - 1, items.length, 500])
      expect((await asked(name, list, { limit })).total).toBe(list.hasNoTotal ? undefined : items.length)
  })

  it('has no next page after one that holds the rest', async () => {
    const { items } = await asked(name, list)
    expect(await asked(name, list, { limit: items.length })).toEqual({
      items,
      nextCursor: undefined,
      total: list.hasNoTotal ? undefined : items.length,
    })
    expect((await asked(name, list, { limit: items.length - 1 })).nextCursor).toBeDefined()
  })

  it.each([
    ['is no base-64', '!!!'],
    ['is no JSON', encode('x')],
    ['is no list', encode('{}')],
    ['is null', encode('null')],
    ['is too short', encode('["name"]')],
    ['is too long', encode('["name","a","b","c"]')],
    ['has numbers in it', encode('["name",1,2]')],
    ['has an order from the prototype', encode('["constructor","a","b"]')],
    ['goes on for ever', 'x'.repeat(MAX_CURSOR_LENGTH + 1)],
    ['has NUL in it', 'a\0b'],
  ])('refuses a cursor that %s', async (_what, cursor) => {
    await expect(asked(name, list, { limit: 2, cursor })).rejects.toMatchObject({
      kind: 'Invalid',
      status: 400,
    })
  })

  it('refuses a cursor whose value nobody wrote, or answers it, but never fails', async () => {
    for (const sort of Object.keys(list.sorts)) {
      for (const value of [
        '',
        'junk',
        '\0',
        '\ud800',
        '1e999',
        'infinity',
        '2026-01-01',
        "'",
        'true',
        '-1',
      ]) {
        const cursor = encode(JSON.stringify([sort, value, value]))
        const outcome = await asked(name, list, { limit: 2, sort, cursor }).then(
          () => 'answered',
          (error: { kind: string }) => error.kind,
        )
        expect(['answered', 'Invalid'], `${sort} after ${JSON.stringify(value)}`).toContain(outcome)
      }
    }
  })

  it('takes an empty cursor for none', async () => {
    expect((await asked(name, list, { limit: 2, cursor: '' })).items).toEqual(
      (await asked(name, list, { limit: 2 })).items,
    )
  })

  it('takes no filter, an empty one and one of blanks for all', async () => {
    const { items } = await asked(name, list)
    for (const filter of [{}, { text: '' }, { text: '  ' }, { text: null }, { unknown: 1 }])
      expect((await asked(name, list, { filter })).items).toEqual(items)
  })
})

describe.each(lists.filter(([, list]) => list.hasText))('%s by text', (name, list) => {
  it('finds text anywhere in a name, in any case, and takes it literally', async () => {
    const named = async (filter: string): Promise<unknown[]> =>
      (await asked(name, list, { filter: { text: filter } })).items.map(item => item[list.named ?? 'name'])
    expect(await named('%')).toEqual(['100 %'])
    expect(await named('a_b')).toEqual(['a_b'])
    expect(await named('\\')).toEqual(['back\\slash'])
    expect(await named("'")).toEqual(["O'Neil"])
    expect(await named('"')).toEqual(['q"uote'])
    expect(await named('漢')).toEqual(['漢字'])
    expect(await named('😀')).toEqual(['😀'])
    expect(await named('%%')).toEqual([])
    expect(await named('\\_')).toEqual([])
    expect((await named('ZEBRA')).sort()).toEqual(['Zebra', 'zebra'])
    expect((await named('ATE')).length).toBeGreaterThanOrEqual(4)
  })

  it('finds an item by its id, or a part of it', async () => {
    const { items } = await asked(name, list)
    const id = items[5]![list.id] as string
    for (const text of [id, id.slice(0, -1), id.slice(4)]) {
      const found = await asked(name, list, { filter: { text } })
      expect(found.items.map(item => item[list.id])).toEqual([id])
    }
  })

  it('counts and pages what a filter leaves', async () => {
    const whole = await asked(name, list, { filter: { text: 'gate' } })
    const parts = await all(pages(name, list, { filter: { text: 'gate' }, limit: 2 }))
    expect(parts.flatMap(({ items }) => items)).toEqual(whole.items)
    expect(parts[0]!.total).toBe(whole.items.length)
  })
})

describe.each(sorted)('%s by %s', (name, sort, list) => {
  it('is the same in pages as in one piece, either way', async () => {
    for (const order of [sort, `-${sort}`]) {
      const whole = await asked(name, list, { sort: order })
      for (const limit of [2, 7]) {
        const parts = await all(pages(name, list, { sort: order, limit }))
        expect(parts.flatMap(({ items }) => items)).toEqual(whole.items)
        expect(parts.slice(1).every(({ total }) => total === undefined)).toBe(true)
        expect(parts.slice(0, -1).every(({ items }) => items.length === limit)).toBe(true)
      }
    }
  })

  it('is in order, and backwards the other way', async () => {
    const up = (await asked(name, list, { sort })).items
    const down = (await asked(name, list, { sort: `-${sort}` })).items
    expect(down).toEqual(up.toReversed())
    const keys = up.map(list.sorts[sort]!)
    // How texts are ordered is the database's affair; equal ones must stand together.
    if (typeof keys[0] === 'string')
      expect(keys.filter((key, at) => key !== keys[at - 1]).length).toBe(new Set(keys).size)
    else expect(keys).toEqual(keys.toSorted((a, b) => Number(a) - Number(b)))
  })

  it('does not continue a list in another order', async () => {
    const { nextCursor } = await asked(name, list, { sort, limit: 2 })
    const other = asked(name, list, { sort: `-${sort}`, limit: 2, cursor: nextCursor! })
    await expect(other).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('neither repeats nor skips an item when others come and go between two pages', async () => {
    const before = (await asked(name, list, { sort })).items.map(item => item[list.id])
    const seen: unknown[] = []
    let round = 0
    for await (const { items } of pages(name, list, { sort, limit: 6 })) {
      seen.push(...items.map(item => item[list.id]))
      // Before, at and after the place where the list goes on.
      if (round++ < 3)
        for (const other of ['  inner  blanks', 'Gate', 'zzz']) await list.add(other, round * 5)
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.filter(id => before.includes(id))).toEqual(before)
  })
})

it('goes on after the longest values that there are', async () => {
  const emails = ['😀', '😁'].map(letter => `${letter.repeat(MAX_EMAIL_LENGTH - 13)}@test.example`)
  for (const email of emails) await addInvitation(organizationId, email, 0)
  const list = LISTS.organizations_QueryInvitations!
  const parts = await all(
    pages('organizations_QueryInvitations', list, { sort: 'email', limit: 1, filter: { text: '@test' } }),
  )
  expect(parts.slice(-2).map(({ items }) => items[0]!.email)).toEqual(emails)
})

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}
