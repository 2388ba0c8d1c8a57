import {
  type Action,
  ActionError,
  type ActionInput,
  type ActionName,
  actions,
  newDatedId,
  newId,
  publicIdOf,
} from '@muster/actions'
import {
  ask,
  capturedLog,
  connectDevice,
  deviceRow,
  type FakeDevice,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Handlers } from '../handler.ts'
import { hashSecret } from '../secrets.ts'
import { handlers } from './index.ts'

/** Verbs of the public definitions: a new action uses one of these. */
const VERBS = [
  'Accept',
  'Add',
  'Advance',
  'Authenticate',
  'Cancel',
  'Change',
  'Claim',
  'Cleanup',
  'Complete',
  'Create',
  'Define',
  'Delete',
  'Finalize',
  'Get',
  'Index',
  'Initiate',
  'Invite',
  'Issue',
  'Link',
  'Pause',
  'Publish',
  'Query',
  'Redeem',
  'Register',
  'Remove',
  'Report',
  'Resend',
  'Reset',
  'Resolve',
  'Revoke',
  'Set',
  'Start',
  'Tag',
  'Terminate',
  'Unlink',
  'Unregister',
  'Untag',
  'Validate',
]

const ACTORS = [
  'nobody',
  'expiredSession',
  'endedSession',
  'stranger',
  'member',
  'organizationAdmin',
  'instanceAdmin',
  'userToken',
  'ownDevice',
  'siblingDevice',
  'foreignDevice',
] as const
type ActorName = (typeof ACTORS)[number]

const WITHOUT_CREDENTIALS: readonly ActorName[] = ['nobody', 'expiredSession', 'endedSession']
/** People of the organization; the user token is the member's. */
const MEMBERS: readonly ActorName[] = ['member', 'organizationAdmin', 'userToken']
const READERS: readonly ActorName[] = [...MEMBERS, 'instanceAdmin']
const PEOPLE: readonly ActorName[] = [...READERS, 'stranger']
const ONESELF: readonly ActorName[] = ['member', 'userToken', 'instanceAdmin']

/** What the rows below act on: an organization with people and devices, and a stranger with one of their own. */
type World = {
  hub: TestHub
  people: Record<'member' | 'organizationAdmin' | 'instanceAdmin' | 'stranger', TestUser>
  devices: Record<'ownDevice' | 'siblingDevice' | 'foreignDevice', FakeDevice>
  organizationId: string
  projectId: string
  tokenId: string
  deviceId: string
}

type Row<N extends ActionName> = {
  /** An input that is valid, on things of the world's organization; what is deleted is made for each call. */
  input: (world: World) => ActionInput<N> | Promise<ActionInput<N>>
  /** Who may run it; everybody else is refused. */
  may: readonly ActorName[]
}

/** Every action, with who may run it on something of the organization. An action without a row does not compile. */
const ROWS: { [N in ActionName]: Row<N> } = {
  actor_GetActor: { input: () => ({}), may: ACTORS },
  users_GetDetails: { input: ({ people }) => ({ userId: people.member.userId }), may: ONESELF },
  users_QueryOrganizations: { input: ({ people }) => ({ userId: people.member.userId }), may: ONESELF },

  organizations_Query: { input: () => ({}), may: PEOPLE },
  organizations_Create: { input: () => ({ name: 'Another organization' }), may: PEOPLE },
  organizations_Delete: {
    input: async world => ({ organizationId: await anotherOrganization(world) }),
    may: ['organizationAdmin', 'instanceAdmin'],
  },
  organizations_QueryProjects: { input: ({ organizationId }) => ({ organizationId }), may: READERS },

  projects_Query: { input: () => ({}), may: PEOPLE },
  projects_Create: {
    input: ({ organizationId }) => ({ organizationId, name: 'Another project' }),
    may: MEMBERS,
  },
  projects_GetDetails: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_GetSummary: { input: ({ projectId }) => ({ projectId, maxBins: 3 }), may: READERS },
  projects_SetName: { input: ({ projectId }) => ({ projectId, name: 'Renamed' }), may: MEMBERS },
  projects_Delete: { input: async world => ({ projectId: await anotherProject(world) }), may: READERS },
  projects_QueryDevices: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_QueryDeploymentTokens: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_CreateDeploymentToken: {
    input: ({ projectId }) => ({ projectId, name: 'Another token', flags: { autoAccept: true } }),
    may: MEMBERS,
  },
  projects_DeleteDeploymentToken: {
    input: async world => ({ tokenId: await anotherToken(world) }),
    may: READERS,
  },
  projects_SetDeploymentTokenFlags: {
    input: ({ tokenId }) => ({ tokenId, flags: { autoAccept: true } }),
    may: MEMBERS,
  },

  devices_Query: { input: () => ({}), may: PEOPLE },
  devices_GetDetails: { input: ({ deviceId }) => ({ deviceId }), may: READERS },
  devices_SetName: { input: ({ deviceId }) => ({ deviceId, name: 'Gate' }), may: MEMBERS },
  devices_Delete: {
    input: async world => ({ deviceId: await deviceRow(world.hub, world.projectId) }),
    may: READERS,
  },
  devices_AddCertificate: {
    input: ({ deviceId }) => ({ deviceId, fingerprint: randomFingerprint(), status: 'Pending' }),
    may: MEMBERS,
  },
  devices_SetCertificateStatus: {
    input: async world => ({ certificateId: await anotherCertificate(world), status: 'Active' }),
    may: MEMBERS,
  },
  devices_DeleteCertificate: {
    input: async world => ({ certificateId: await anotherCertificate(world) }),
    may: READERS,
  },
  devices_QueryProperties: { input: ({ deviceId }) => ({ deviceId }), may: [...READERS, 'ownDevice'] },
  devices_GetProperty: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property' }),
    may: [...READERS, 'ownDevice'],
  },
  devices_SetProperty: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property', value: { a: [1] } }),
    may: [...MEMBERS, 'ownDevice'],
  },
  devices_RemoveProperty: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property' }),
    may: [...MEMBERS, 'ownDevice'],
  },
  devices_QueryEvents: { input: ({ deviceId }) => ({ deviceId, limit: 10 }), may: READERS },
  devices_PublishEvents: {
    input: ({ deviceId }) => ({ deviceId, events: [someEvent()] }),
    may: [...MEMBERS, 'ownDevice'],
  },
  devices_QueryConnections: { input: ({ deviceId }) => ({ deviceId, activeOnly: false }), may: READERS },
  devices_ClaimOperationWork: {
    input: ({ deviceId }) => ({ deviceId, limit: 1, kinds: ['DeviceCommand'] }),
    may: ['ownDevice'],
  },
}

const entries = Object.entries(actions) as [ActionName, Action][]
const scoped = entries.filter(([, { permission }]) => typeof permission === 'object')

const captured = capturedLog()
let world: World
let expiredCookie: string
let endedCookie: string
let memberToken: string

beforeAll(async () => {
  const hub = await testHub({}, captured.log)
  const member = await hub.user()
  const organizationAdmin = await hub.user()
  const instanceAdmin = await hub.user({ isAdmin: true })
  const stranger = await hub.user()
  const organizationId = await hub.organization(organizationAdmin, [member])
  const projectId = await hub.project(organizationAdmin, organizationId)
  const { tokenId, token } = await hub.token(organizationAdmin, projectId)
  const foreign = await hub.token(stranger, await hub.project(stranger, await hub.organization(stranger)))
  const [ownDevice, siblingDevice, foreignDevice] = await Promise.all(
    [token, token, foreign.token].map(one => connectDevice({ url: hub.url, token: one })),
  )
  world = {
    hub,
    people: { member, organizationAdmin, instanceAdmin, stranger },
    devices: { ownDevice: ownDevice!, siblingDevice: siblingDevice!, foreignDevice: foreignDevice! },
    organizationId,
    projectId,
    tokenId,
    deviceId: ownDevice!.deviceId,
  }
  memberToken = await hub.userToken(member)
  expiredCookie = await expiredSession(hub, member)
  endedCookie = await endedSession(hub, member)
})

afterAll(async () => {
  for (const device of Object.values(world.devices)) await device[Symbol.asyncDispose]()
  await world.hub[Symbol.asyncDispose]()
})

describe('every action', () => {
  it('has a handler and a row in this test, and nothing else has', () => {
    const names = Object.keys(actions).sort()
    expect(Object.keys(handlers).sort()).toEqual(names)
    expect(Object.keys(ROWS).sort()).toEqual(names)
  })

  it('without a handler does not compile', () => {
    const { devices_SetName, ...others } = handlers
    // @ts-expect-error one is missing
    const missing: Handlers = others
    // @ts-expect-error the handler of another action
    const swapped: Handlers = { ...others, devices_SetName: handlers.projects_CreateDeploymentToken }
    // @ts-expect-error there is no such action
    const tooMany: Handlers = { ...handlers, devices_Rename: devices_SetName }
    expect([missing, swapped, tooMany]).toHaveLength(3)
  })

  it.each(entries)('%s is named after what it does and on what', (name, { kind }) => {
    const [, verb] = /^[a-z]+_([A-Z][a-z]+)([A-Z][a-z]+)*$/.exec(name) ?? []
    expect(VERBS).toContain(verb)
    // What only reads says so, and what writes does not sound as if it only read.
    const isReading = ['Get', 'Query', 'Resolve', 'Validate'].includes(verb!)
    if (name !== 'devices_ClaimOperationWork') expect(isReading).toBe(kind === 'query')
  })

  it.each(entries)('%s tells no secret but what it shows once', (_name, { output, shownOnce }) => {
    const properties = propertiesOf(z.toJSONSchema(output, { io: 'output', unrepresentable: 'any' }))
    const secrets = properties.filter(([key, schema]) => looksSecret(key, schema)).map(([key]) => key)
    expect([...new Set(secrets)].sort()).toEqual([...shownOnce].sort())
  })
})

describe('the right to run', () => {
  it.each(entries)('%s is what the table says, for every kind of actor', async (name, { permission }) => {
    for (const actor of ACTORS) {
      const input = await ROWS[name].input(world)
      const outcome = await run(actor, name, input)
      const refused = WITHOUT_CREDENTIALS.includes(actor) ? '401 Forbidden' : '403 Forbidden'
      const expected = ROWS[name].may.includes(actor) ? '200' : refused
      expect(outcome.told, `${actor} runs ${name}`).toBe(expected)
      if (permission === 'anyone') expect(outcome.told).toBe('200')
      // What a stranger is told has nothing of the organization in it, not even in lists.
      if (actor === 'stranger')
        for (const id of [world.organizationId, world.projectId, world.tokenId, world.deviceId])
          expect(outcome.text, name).not.toContain(id)
    }
  })

  it.each(scoped)('%s ends for what is not there as for what is foreign, to the byte', async name => {
    const { permission } = actions[name] as Action
    if (typeof permission === 'string') throw new Error('not scoped')
    const input = (await ROWS[name].input(world)) as Record<string, string>
    const prefix = input[permission.id]!.slice(0, input[permission.id]!.lastIndexOf('_'))
    const missing = { ...input, [permission.id]: missingId(prefix) }
    const path = `/api/v1/actions/invoke/${name}`
    const [foreign, absent] = await Promise.all(
      [input, missing].map(body => ask(world.hub, path, { as: world.people.stranger, body })),
    )
    expect(foreign!.status).toBe(403)
    expect(comparable(absent!)).toEqual(comparable(foreign!))

    const { siblingDevice } = world.devices
    const [foreignToDevice, absentToDevice] = await Promise.all(
      [input, missing].map(one => siblingDevice.invoke(name, one).catch((error: Error) => error.message)),
    )
    expect(absentToDevice).toBe(foreignToDevice)
    expect(foreignToDevice).toBe(foreign!.json().message)
  })

  it('is not taken from a name that another kind of id stands in', async () => {
    const { hub, people, projectId } = world
    const answer = await ask(hub, '/api/v1/actions/invoke/devices_GetDetails', {
      as: people.member,
      body: { deviceId: projectId },
    })
    expect(answer.status).toBe(400)
    expect(answer.json()).toMatchObject({ kind: 'Invalid', issues: [{ path: 'deviceId' }] })
  })
})

describe('junk', () => {
  const TOP_LEVEL = [
    'null',
    'true',
    '7',
    '"text"',
    '[]',
    '[{}]',
    '{',
    '}',
    'undefined',
    'NaN',
    "{'a': 1}",
    '{"a": 1,}',
    '{"a": 01}',
    '{"a": "\t"}',
    '{} {}',
    '\0',
    `{"a": ${'['.repeat(65)}${']'.repeat(65)}}`,
    `{"a": ${'{"b":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
    '['.repeat(1_000_000),
  ]
  const VALUES: unknown[] = [
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    2 ** 53,
    '',
    ' ',
    'text',
    'a\0b',
    '\ud800',
    '\udc00\ud800',
    '\u202e',
    '__proto__',
    'constructor',
    "'; drop table device; --",
    '%_\\',
    'x'.repeat(1_000_000),
    [],
    [[]],
    [null],
    Array(2_000).fill('x'),
    {},
    { length: 1e9 },
    { toString: 'x', valueOf: 1 },
    JSON.parse('{"__proto__": {"a": 1}, "constructor": {"prototype": {}}}'),
    nested(60),
  ]

  it.each(entries)('in place of the input of %s is Invalid', async name => {
    for (const text of TOP_LEVEL) expect(await invoked(name, text), text.slice(0, 40)).toBe('Invalid')
  })

  it.each(entries)('in a field of %s is Invalid, and never a fault of the hub', async (name, action) => {
    const { shape } = action.input as z.ZodObject
    for (const field of Object.keys(shape)) {
      for (const value of VALUES) {
        const input = { ...(await ROWS[name].input(world)), [field]: value }
        const isValid = action.input.safeParse(input).success
        const outcome = await invoked(name, JSON.stringify(input))
        const what = `${name}.${field} = ${JSON.stringify(value).slice(0, 40)}`
        if (isValid) expect(['ok', 'Forbidden', 'Invalid'], what).toContain(outcome)
        else expect(outcome, what).toBe('Invalid')
        const isBrokenText = typeof value === 'string' && /\0|\p{Cs}/u.test(value)
        // The one place where such text is data: any JSON, kept as it was written.
        if (isBrokenText && field !== 'value') expect(outcome, what).toBe('Invalid')
      }
    }
  })

  it.each(entries)('beside the fields of %s changes nothing', async name => {
    const input = JSON.stringify(await ROWS[name].input(world))
    const more = `"__proto__":{"isAdmin":true},"constructor":null,"toString":[],"\\u0000":"\\ud800"`
    const text = input === '{}' ? `{${more}}` : `{${more},${input.slice(1)}`
    const isForPeople = ROWS[name].may.includes('organizationAdmin')
    if (isForPeople) expect(await invoked(name, text)).toBe('ok')
    else expect(await invoked(name, text)).toBe('Forbidden')
  })

  it.each(entries)('nested in something that %s does not know is Invalid over 64 levels', async name => {
    const input = (await ROWS[name].input(world)) as object
    expect(await invoked(name, JSON.stringify({ ...input, more: nested(64) }))).toBe('Invalid')
  })

  it('has panicked nobody', async () => {
    expect(captured.named('action panicked')).toEqual([])
    expect(captured.named('request failed')).toEqual([])
    const rows = await world.hub.db
      .selectFrom('audit_action')
      .where('status', 'in', ['Panicked', 'Pending'])
      .select(['action', 'data', 'status'])
      .execute()
    expect(rows).toEqual([])
  })
})

/** Runs an action as an organization's administrator; tells the kind of error or `ok`. */
async function invoked(name: ActionName, text: string): Promise<string> {
  const { cookie } = world.people.organizationAdmin
  const caller = await world.hub.sessions.callerOf({ cookie: cookie.split('=')[1]! })
  return world.hub.pipeline.invoke(caller, name, text, 'junk').then(
    () => 'ok',
    error => (error instanceof ActionError ? error.kind : `not an ActionError: ${String(error)}`),
  )
}

type Outcome = { told: string; text: string }

async function run(actor: ActorName, name: ActionName, input: unknown): Promise<Outcome> {
  const { hub, people, devices } = world
  if (actor === 'ownDevice' || actor === 'siblingDevice' || actor === 'foreignDevice') {
    return devices[actor].invoke(name, input).then(
      output => ({ told: '200', text: JSON.stringify(output) }),
      // Over the link there is no status; the words are the same.
      (error: { kind: string; message: string }) => ({ told: `403 ${error.kind}`, text: error.message }),
    )
  }
  const credentials = {
    nobody: {},
    expiredSession: { cookie: expiredCookie, origin: hub.url },
    endedSession: { cookie: endedCookie, origin: hub.url },
    userToken: { authorization: `Bearer ${memberToken}` },
    stranger: { cookie: people.stranger.cookie, origin: hub.url },
    member: { cookie: people.member.cookie, origin: hub.url },
    organizationAdmin: { cookie: people.organizationAdmin.cookie, origin: hub.url },
    instanceAdmin: { cookie: people.instanceAdmin.cookie, origin: hub.url },
  }[actor] as Record<string, string>
  const { status, text, json } = await ask(hub, `/api/v1/actions/invoke/${name}`, {
    body: input,
    headers: credentials,
  })
  return { told: status === 200 ? '200' : `${status} ${json<{ kind: string }>().kind}`, text }
}

/** Everything of an answer that two answers must share. */
function comparable({ status, headers, json }: Awaited<ReturnType<typeof ask>>): unknown {
  const { requestId, ...body } = json()
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
  const told = [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  return { status, headers: told, body: JSON.stringify(body) }
}

function missingId(prefix: string): string {
  if (prefix === 'deployment_id') return publicIdOf(newId('deployment'))
  return newId(prefix as 'd')
}

function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels))
}

/** Members of every object inside a JSON schema. */
function propertiesOf(schema: unknown): [string, { pattern?: string }][] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = Object.entries(
    (schema as { properties?: Record<string, { pattern?: string }> }).properties ?? {},
  )
  return [...own, ...Object.values(schema).flatMap(propertiesOf)]
}

function looksSecret(key: string, { pattern = '' }: { pattern?: string }): boolean {
  const isNamedSo = /secret|password|passphrase|hash|jwt|credential|privatekey|^token$/i.test(key)
  const isShapedSo = /^\^(u_sk|u_session_sk|deployment|d_sk|org_sk)_\[/.test(pattern)
  return isNamedSo || isShapedSo
}

function someEvent() {
  return {
    eventId: newDatedId('d_ev'),
    severity: 'Info' as const,
    body: 'hello',
    attributes: {},
    emittedAt: new Date().toISOString(),
  }
}

async function anotherOrganization({ hub, people }: World): Promise<string> {
  const organizationId = newId('org')
  await hub.db.insertInto('organization').values({ organization_id: organizationId, name: 'Other' }).execute()
  await hub.db
    .insertInto('organization_member')
    .values([
      { organization_id: organizationId, user_id: people.organizationAdmin.userId, is_admin: true },
      { organization_id: organizationId, user_id: people.member.userId, is_admin: false },
    ])
    .execute()
  return organizationId
}

async function anotherProject({ hub, organizationId }: World): Promise<string> {
  const projectId = newId('p')
  await hub.db
    .insertInto('project')
    .values({ project_id: projectId, organization_id: organizationId, name: 'Other' })
    .execute()
  return projectId
}

async function anotherToken({ hub, projectId }: World): Promise<string> {
  const token = newId('deployment')
  const tokenId = publicIdOf(token)
  await hub.db
    .insertInto('deployment_token')
    .values({ token_id: tokenId, token_hash: hashSecret(token), project_id: projectId, name: 'Other' })
    .execute()
  return tokenId
}

async function anotherCertificate(world: World): Promise<string> {
  const certificateId = newId('d_c')
  await world.hub.db
    .insertInto('device_certificate')
    .values({
      certificate_id: certificateId,
      device_id: world.deviceId,
      fingerprint: randomFingerprint(),
      status: 'Pending',
    })
    .execute()
  return certificateId
}

async function expiredSession(hub: TestHub, { userId }: TestUser): Promise<string> {
  const token = newId('u_session_sk')
  await hub.db
    .insertInto('session')
    .values({
      session_id: publicIdOf(token),
      token_hash: hashSecret(token),
      user_id: userId,
      user_agent: 'test',
      expires_at: new Date(Date.now() - 1000),
    })
    .execute()
  return `muster=${token}`
}

async function endedSession(hub: TestHub, { email, password }: TestUser): Promise<string> {
  const login = await ask(hub, '/api/private/login', { body: { email, password, remember: true } })
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  const before = await ask(hub, '/api/v1/actions/invoke/actor_GetActor', { body: {}, headers: { cookie } })
  expect(before.json()).toMatchObject({ actor: { actor: 'User', userId: expect.any(String) } })
  await ask(hub, '/api/private/logout', { method: 'POST', headers: { cookie, origin: hub.url } })
  return cookie
}
