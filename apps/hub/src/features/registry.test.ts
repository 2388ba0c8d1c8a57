import {
  type Action,
  ActionError,
  type ActionName,
  actions,
  newDatedId,
  newId,
  publicIdOf,
  type Role,
  rolesOf,
} from '@muster/actions'
import {
  ask,
  blockRow,
  capturedLog,
  connectDevice,
  type FakeDevice,
  operationRow,
  type TestHub,
  type TestUser,
  testHub,
  viewRow,
  webhookRow,
} from '@muster/testkit'
import { ACTION_ROWS } from '@muster/testkit/action-rows'
import {
  anotherCertificate,
  anotherInvitation,
  anotherPerson,
  bulkActionRow,
  filledRepository,
  newEmail,
  newSession,
} from '@muster/testkit/action-rows/records'
import {
  ACTORS,
  type ActorName,
  type Person,
  type RepositoryIds,
  type World,
} from '@muster/testkit/action-rows/row'
import { actionWorld } from '@muster/testkit/action-rows/world'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '../platform/config/config.ts'
import type { Caller } from '../platform/pipeline/caller.ts'
import type { Handlers } from '../platform/pipeline/handler.ts'
import { handlers } from './index.ts'

const PROXY_SECRET = 'only our proxy knows'

/** Verbs of the public action names. A new action uses one of them, unless docs/decisions.md gives the reason for another verb. */
const VERBS = [
  'Accept',
  'Add',
  'Advance',
  'Authenticate',
  'Block',
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
  'Retry',
  'Revoke',
  'Search',
  'Set',
  'Start',
  'Tag',
  'Terminate',
  'Test',
  'Unblock',
  'Unlink',
  'Unregister',
  'Untag',
  'Validate',
]

/**
 * Roles of each actor towards the test records (`world`), whose repository is private. The user token belongs to the member.
 */
const ACTOR_ROLES: Record<ActorName, readonly Role[]> = {
  unauthenticated: ['anyone'],
  expiredSession: ['anyone'],
  endedSession: ['anyone'],
  revokedToken: ['anyone'],
  otherTenant: ['anyone', 'person'],
  member: ['anyone', 'person', 'oneself', 'member'],
  organizationAdmin: ['anyone', 'person', 'organizationAdmin'],
  instanceAdmin: ['anyone', 'person', 'instanceAdmin'],
  userToken: ['anyone', 'person', 'oneself', 'member'],
  ownDevice: ['anyone', 'device', 'linkedDevice'],
  siblingDevice: ['anyone', 'linkedDevice'],
  foreignDevice: ['anyone'],
  clusterNode: ['anyone'],
}

const WITHOUT_CREDENTIALS: readonly ActorName[] = [
  'unauthenticated',
  'expiredSession',
  'endedSession',
  'revokedToken',
]
/** Test records with two connected devices of the project and one connected device of another organization. */
type ConnectedWorld = World & {
  devices: Record<'ownDevice' | 'siblingDevice' | 'foreignDevice', FakeDevice>
}

const entries = Object.entries(actions) as [ActionName, Action][]
const scoped = entries.filter(([, { permission }]) => typeof permission === 'object')
/**
 * Actions with ids in their input. Actions that only administrators of the instance may run are left out, because these administrators may
 * learn which records exist.
 */
const withIds = entries.filter(
  ([, { input, permission }]) =>
    idFieldsOf(input).length > 0 && (isForMembers(permission) || isForDevices(permission)),
)
const readable = scoped.filter(
  ([, { permission }]) => typeof permission === 'object' && permission.can === 'read',
)

const captured = capturedLog()
let world: ConnectedWorld
/** Public repository of the other tenant (`otherTenant`). */
let open: RepositoryIds
let expiredToken: string
let endedToken: string
let revokedToken: string
/**
 * Ids and email addresses that no answer to the other tenant may contain. They belong to the organization, to its people, or to
 * records that the hub itself created.
 */
let hiddenFromOtherTenant: string[]
/** Ids of records of the other tenant, one for each id prefix. */
let foreign: Record<string, string>

beforeAll(async () => {
  // With a trusted proxy each call can have its own client IP, so that no rate limit per client IP applies.
  const settings = { trustedProxies: ['127.0.0.1'], proxySecret: PROXY_SECRET }
  const { limits } = loadConfig({})
  // Many entries of `ACTION_ROWS` add certificates to the same device, so the limit of pending certificates is raised.
  // Each actor is refused thousands of commands here.
  const roomy = {
    ...limits,
    'device-pending-certificates': 1000,
    'organization-webhooks': 1000,
    'device-refused-commands': 1_000_000,
    'person-refused-commands': 1_000_000,
    'address-refused-commands': 1_000_000,
  }
  const loopback = {
    outboundAllow: ['127.0.0.0/8'],
    webhooksAllow: ['127.0.0.0/8'],
  }
  const hub = await testHub({ limits: roomy, ...settings, ...loopback }, captured.log)
  const instanceOwn = await hub.pool.query<{ id: string }>(
    `select organization_id as id from organization union all select project_id from project
     union all select token_id from deployment_token union all select user_id from "user"`,
  )
  const { token, ...made } = await actionWorld(hub)
  const { organizationId, projectId, tokenId } = made
  const { member, organizationAdmin, instanceAdmin, otherTenant } = made.people
  const foreignOrganizationId = await hub.organization(otherTenant)
  const foreignProjectId = await hub.project(otherTenant, foreignOrganizationId)
  const foreignToken = await hub.token(otherTenant, foreignProjectId)
  const [ownDevice, siblingDevice, foreignDevice] = await Promise.all(
    [token, token, foreignToken.token].map(one => connectDevice({ url: hub.url, token: one })),
  )
  world = {
    ...made,
    devices: { ownDevice: ownDevice!, siblingDevice: siblingDevice!, foreignDevice: foreignDevice! },
    deviceId: ownDevice!.deviceId,
    identity: ownDevice!.identity,
  }
  open = await filledRepository(hub, foreignOrganizationId, 'Public')
  const closed = await filledRepository(hub, foreignOrganizationId)
  foreign = {
    u: otherTenant.userId,
    u_pk: publicIdOf(await hub.userToken(otherTenant)),
    u_session_pk: publicIdOf(await newSession(hub, otherTenant.userId)),
    org: foreignOrganizationId,
    org_invite: await anotherInvitation(world, foreignOrganizationId, newEmail()),
    repo: closed.repositoryId,
    repo_a: closed.assetId,
    pkg: closed.packageId,
    pkg_v: closed.versionId,
    p: foreignProjectId,
    deployment_id: foreignToken.tokenId,
    d: foreignDevice!.deviceId,
    d_c: await anotherCertificate(world, foreignDevice!.deviceId),
    d_op: await operationRow(hub, foreignDevice!.deviceId),
    d_op_claim: newId('d_op_claim'),
    d_block: await blockRow(hub, foreignProjectId),
    view: await viewRow(hub, foreignProjectId),
    wh: await webhookRow(hub, foreignOrganizationId),
    msg: newDatedId('msg'),
    bulk: await bulkActionRow(hub, foreignProjectId, otherTenant.userId),
  }
  hiddenFromOtherTenant = [
    ...instanceOwn.rows.map(({ id }) => id),
    ...[organizationId, projectId, tokenId, world.deviceId, siblingDevice!.deviceId],
    ...[world.repositoryId, world.packageId, world.versionId, world.assetId],
    ...[member, organizationAdmin, instanceAdmin].flatMap(({ userId, email }) => [userId, email]),
  ]
  revokedToken = await hub.userToken(member)
  await hub.db.deleteFrom('user_token').where('token_id', '=', publicIdOf(revokedToken)).execute()
  expiredToken = await newSession(hub, member.userId, new Date(Date.now() - 1000))
  endedToken = await endedSession(hub, member)
})

afterAll(async () => {
  for (const device of Object.values(world.devices)) await device[Symbol.asyncDispose]()
  await world.s3[Symbol.asyncDispose]()
  await world.hub[Symbol.asyncDispose]()
})

describe('every action', () => {
  it('has a handler and a test row, and nothing else has one', () => {
    const names = Object.keys(actions).sort()
    expect(Object.keys(handlers).sort()).toEqual(names)
    expect(Object.keys(ACTION_ROWS).sort()).toEqual(names)
  })

  it('does not compile without its handler', () => {
    const { devices_SetName, ...others } = handlers
    // @ts-expect-error a handler is missing
    const missing: Handlers = others
    // @ts-expect-error the handler of another action
    const swapped: Handlers = { ...others, devices_SetName: handlers.projects_CreateDeploymentToken }
    // @ts-expect-error there is no such action
    const tooMany: Handlers = { ...handlers, devices_Rename: devices_SetName }
    expect([missing, swapped, tooMany]).toHaveLength(3)
  })

  it.each(entries)('%s begins with a known verb that fits its kind', (name, { kind }) => {
    const [, verb] = /^[a-z]+_([A-Z][a-z]+)([A-Z][a-z]+|S3)*$/.exec(name) ?? []
    expect(VERBS).toContain(verb)
    // Queries have verbs such as `Get`, commands have other verbs. `devices_ClaimOperationWork` is an exception.
    const isReading = ['Get', 'Query', 'Resolve', 'Search', 'Validate'].includes(verb!)
    if (name !== 'devices_ClaimOperationWork') expect(isReading).toBe(kind === 'query')
  })

  it.each(entries)('%s returns no secrets besides those in `shownOnce`', (_name, { output, shownOnce }) => {
    const properties = propertiesOf(z.toJSONSchema(output, { io: 'output', unrepresentable: 'any' }))
    const secrets = properties.filter(([key, schema]) => looksSecret(key, schema)).map(([key]) => key)
    expect([...new Set(secrets)].sort()).toEqual([...shownOnce].sort())
  })
})

describe('permission to run', () => {
  it.each(entries)(
    '%s has the outcome of its test row for every kind of actor',
    async (name, { permission }) => {
      let unused: object | undefined
      for (const actor of ACTORS) {
        const input = unused ?? (await ACTION_ROWS[name].input(world, world.people.member))
        // A refused call changes no record, so the next actor gets the same input.
        unused = ACTION_ROWS[name].may.includes(actor) ? undefined : input
        const outcome = await run(actor, name, input)
        const refused = WITHOUT_CREDENTIALS.includes(actor) ? '401 Forbidden' : '403 Forbidden'
        const expected = ACTION_ROWS[name].may.includes(actor) ? '200' : refused
        expect(outcome.result, `${actor} runs ${name}`).toBe(expected)
        if (permission === 'anyone') expect(outcome.result).toBe('200')
        // An answer to the other tenant contains no ids or email addresses of the organization, not even in lists.
        if (actor === 'otherTenant')
          for (const one of hiddenFromOtherTenant) expect(outcome.text, name).not.toContain(one)
      }
    },
  )

  it.each(entries)('%s has the same roles in its definition and in its test row', async (name, action) => {
    const roles = rolesOf(action.permission)
    const input = (await ACTION_ROWS[name].input(world, world.people.member)) as never
    const token = { actor: 'UserToken', userId: world.people.member.userId } as const
    const permitted = ACTORS.filter(actor => {
      // User tokens are refused where an action needs a browser session or a recent sign-in.
      if (actor === 'userToken' && action.needsSession) return false
      if (actor === 'userToken' && action.recentSignIn?.isNeeded(input, token)) return false
      return ACTOR_ROLES[actor].some(role => roles.has(role))
    })
    expect([...ACTION_ROWS[name].may].sort()).toEqual(permitted.sort())
  })

  it.each(scoped)('%s gives byte-identical answers for absent and foreign records', async name => {
    const { permission } = actions[name] as Action
    if (typeof permission === 'string') throw new Error('not scoped')
    const input = (await ACTION_ROWS[name].input(world, world.people.member)) as Record<string, string>
    const missing = { ...input, [permission.id]: missingId(prefixOf(input[permission.id]!)) }
    const path = `/api/v1/actions/invoke/${name}`
    const [toForeign, toMissing] = await Promise.all(
      [input, missing].map(body => ask(world.hub, path, { as: world.people.otherTenant, body })),
    )
    expect(toForeign!.status).toBe(403)
    expect(comparable(toMissing!)).toEqual(comparable(toForeign!))

    const { siblingDevice, foreignDevice } = world.devices
    // An action with the role `linkedDevice` may be run by all devices of a project to which the repository is linked. `siblingDevice`
    // is one of them, so these actions are tested with a device of another tenant.
    const device = rolesOf(permission).has('linkedDevice') ? foreignDevice : siblingDevice
    const [foreignToDevice, absentToDevice] = await Promise.all(
      [input, missing].map(one => device.invoke(name, one).catch((error: Error) => error.message)),
    )
    expect(absentToDevice).toBe(foreignToDevice)
    expect(foreignToDevice).toBe(toForeign!.json().message)
  })

  it.each(withIds)('%s reveals no foreign record in any id field of its input', async name => {
    const { permission, input: schema } = actions[name] as Action
    const path = `/api/v1/actions/invoke/${name}`
    const person = await anotherPerson(world, world.organizationId, { isOrganizationAdmin: true })
    const cookie = `muster=${await newSession(world.hub, person.userId)}`
    for (const { field, prefix, isList } of idFieldsOf(schema)) {
      const swapped = async (id: string): Promise<object> => {
        const input = (await ACTION_ROWS[name].input(world, person)) as Record<string, unknown>
        return { ...input, [field]: isList ? [id] : id }
      }
      const ids = [foreign[prefix]!, missingId(prefix)]
      expect(ids[0], `a foreign ${prefix}`).toBeDefined()
      if (isForMembers(permission)) {
        const [toForeign, toMissing] = await Promise.all(
          ids.map(async id => {
            const headers = { cookie, origin: world.hub.url }
            return comparable(await ask(world.hub, path, { headers, body: await swapped(id) }), id)
          }),
        )
        expect(toForeign, field).toEqual(toMissing)
        // This action answers `false` for an absent device instead of refusing the call.
        if (field === 'deviceId' && name === 'users_GetDevicePermissions')
          expect(toForeign).toMatchObject({ status: 200, body: '{"hasAccess":false}' })
        // Clients of the public protocol expect this answer for operations that are absent or not theirs to see.
        else if (name === 'devices_GetOperation')
          expect(toForeign).toMatchObject({ status: 200, body: '{"result":"NotFound"}' })
        else expect(toForeign).not.toMatchObject({ status: 200 })
      }
      if (isForDevices(permission)) {
        const [toForeign, toMissing] = await Promise.all(
          ids.map(async id =>
            world.devices.ownDevice.invoke(name, await swapped(id)).catch((error: Error) => error.message),
          ),
        )
        expect(toForeign, field).toEqual(toMissing)
        // A report under any claim but the current one is accepted and ignored.
        if (field === 'claimId') expect(toForeign).toEqual({ isSuperseded: true })
        else expect(toForeign).toBe('You are not permitted to do this.')
      }
    }
  })

  it.each(readable)('%s is permitted to everybody on a public repository', async name => {
    for (const actor of ACTORS) {
      const input = await ACTION_ROWS[name].input({ ...world, ...open }, world.people.member)
      expect((await run(actor, name, input)).result, `${actor} runs ${name}`).toBe('200')
    }
  })

  it('is refused when a field has an id of another kind', async () => {
    const { hub, people, projectId } = world
    const answer = await ask(hub, '/api/v1/actions/invoke/devices_GetDetails', {
      as: people.member,
      body: { deviceId: projectId },
    })
    expect(answer.status).toBe(400)
    expect(answer.json()).toMatchObject({ kind: 'Invalid', issues: [{ path: 'deviceId' }] })
  })
})

describe('invalid input', () => {
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

  it.each(entries)('%s refuses malformed JSON, too deep JSON and JSON that is no object', async name => {
    const person = await permittedPerson(name)
    for (const text of TOP_LEVEL) expect(await invoked(name, text, person), text.slice(0, 40)).toBe('Invalid')
  })

  it.each(entries)('%s refuses invalid values in each field and never panics', async (name, action) => {
    const { shape } = action.input as z.ZodObject
    const newCall = async () => {
      const person = await permittedPerson(name)
      return { person, valid: await ACTION_ROWS[name].input(world, person) }
    }
    let call = await newCall()
    for (const field of Object.keys(shape)) {
      for (const value of VALUES) {
        const { person, valid } = call
        const input = { ...valid, [field]: value }
        const isValid = action.input.safeParse(input).success
        const outcome = await invoked(name, JSON.stringify(input), person)
        // Invalid input is refused before any other step, so it counts towards no rate limit and changes no record.
        if (isValid) call = await newCall()
        const what = `${name}.${field} = ${JSON.stringify(value).slice(0, 40)}`
        if (isValid) expect(['ok', 'Forbidden', 'Invalid'], what).toContain(outcome)
        else expect(outcome, what).toBe('Invalid')
        const isBrokenText = typeof value === 'string' && /\0|\p{Cs}/u.test(value)
        // NUL and lone surrogates are allowed in JSON values, which are stored as written, and in secrets, which are only hashed
        // or verified.
        if (isBrokenText && !/^(value|claims|jwt)$|password|token$/i.test(field))
          expect(outcome, what).toBe('Invalid')
      }
    }
  })

  it.each(entries)('%s ignores unknown fields, also `__proto__`', async name => {
    const person = await permittedPerson(name)
    const input = JSON.stringify(await ACTION_ROWS[name].input(world, person))
    const more = `"__proto__":{"isAdmin":true},"constructor":null,"toString":[],"\\u0000":"\\ud800"`
    const text = input === '{}' ? `{${more}}` : `{${more},${input.slice(1)}`
    const isForPeople = ACTION_ROWS[name].may.some(actor => actor in world.people)
    expect(await invoked(name, text, person)).toBe(isForPeople ? 'ok' : 'Forbidden')
  })

  it.each(entries)('%s refuses an unknown field that is nested deeper than 64 levels', async name => {
    const person = await permittedPerson(name)
    const input = (await ACTION_ROWS[name].input(world, person)) as object
    expect(await invoked(name, JSON.stringify({ ...input, more: nested(64) }), person)).toBe('Invalid')
  })

  it('has left no action Panicked or Pending', async () => {
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

type PermittedPerson = Person & { isAdmin: boolean; sessionId: string }

const personOfAction = new Map<ActionName, PermittedPerson>()

/**
 * Returns an administrator of the organization, who also administers the instance if the action requires it. Each action has its own
 * person, because refusals are held back after 1,000 invalid inputs of one. For an action with a rate limit or a required recent
 * sign-in, each call gets a new person, so that no rate limit refuses the call.
 */
async function permittedPerson(name: ActionName): Promise<PermittedPerson> {
  const { permission, rateLimit, recentSignIn } = actions[name] as Action
  const isAdmin = permission === 'admin'
  const isCounted = rateLimit !== undefined || recentSignIn !== undefined
  const known = isCounted ? undefined : personOfAction.get(name)
  if (known) return known
  const person = await anotherPerson(world, world.organizationId, { isAdmin, isOrganizationAdmin: true })
  const sessionId = publicIdOf(await newSession(world.hub, person.userId))
  const permitted = { ...person, isAdmin, sessionId }
  personOfAction.set(name, permitted)
  return permitted
}

/** Runs an action in process as a person with a recent sign-in. Returns `ok` or the kind of the error. */
async function invoked(name: ActionName, text: string, person: PermittedPerson): Promise<string> {
  const caller: Caller = { actor: 'User', ...person, signedInAt: new Date() }
  return world.hub.pipeline.invoke(caller, name, text, 'junk').then(
    () => 'ok',
    error => (error instanceof ActionError ? error.kind : `not an ActionError: ${String(error)}`),
  )
}

type Outcome = { result: string; text: string }

let calls = 0

/**
 * Runs an action as an actor. Devices use their WebSocket link, a cluster node calls in process, and all others use HTTP with a new
 * client IP for each call.
 */
async function run(actor: ActorName, name: ActionName, input: unknown): Promise<Outcome> {
  const { hub, devices } = world
  if (actor === 'clusterNode') {
    const node: Caller = { actor: 'ClusterNode', nodeId: hub.nodeId }
    return hub.pipeline.invoke(node, name, JSON.stringify(input), 'node').then(
      text => ({ result: '200', text }),
      ({ status, kind, message }: ActionError) => ({ result: `${status} ${kind}`, text: message }),
    )
  }
  if (actor === 'ownDevice' || actor === 'siblingDevice' || actor === 'foreignDevice') {
    return devices[actor].invoke(name, input).then(
      output => ({ result: '200', text: JSON.stringify(output) }),
      // An error that arrives over a device link has no HTTP status. Its message is the same as over HTTP.
      (error: { kind: string; message: string }) => ({ result: `403 ${error.kind}`, text: error.message }),
    )
  }
  const address = `10.0.${(calls >> 8) & 255}.${calls++ & 255}`
  const { status, text, json } = await ask(hub, `/api/v1/actions/invoke/${name}`, {
    body: input,
    headers: {
      ...(await credentialsOf(actor)),
      origin: hub.url,
      'x-forwarded-for': address,
      'x-muster-proxy-secret': PROXY_SECRET,
    },
  })
  return { result: status === 200 ? '200' : `${status} ${json<{ kind: string }>().kind}`, text }
}

/** Headers with the credentials of an actor that uses HTTP. */
async function credentialsOf(
  actor: Exclude<ActorName, `${string}Device` | 'clusterNode'>,
): Promise<Record<string, string>> {
  const { hub, people } = world
  switch (actor) {
    case 'unauthenticated':
      return {}
    case 'expiredSession':
      return { cookie: `muster=${expiredToken}` }
    case 'endedSession':
      return { cookie: `muster=${endedToken}` }
    case 'revokedToken':
      return { authorization: `Bearer ${revokedToken}` }
    case 'userToken':
      // Creates a user token for each call, because setting the person's password ends the person's user tokens.
      return { authorization: `Bearer ${await hub.userToken(people.member)}` }
    default:
      // Creates a session for each call, because setting a password ends the person's other sessions.
      return { cookie: `muster=${await newSession(hub, people[actor].userId)}` }
  }
}

/** Parts of an answer that must be equal for an absent and a foreign record. Replaces the requested id, which differs. */
function comparable({ status, headers, json }: Awaited<ReturnType<typeof ask>>, id = ''): unknown {
  const { requestId, ...body } = json()
  if (status !== 200) expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
  const comparedHeaders = [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  return { status, headers: comparedHeaders, body: JSON.stringify(body).replaceAll(id || '\0', 'the id') }
}

function prefixOf(id: string): string {
  return id.slice(0, id.lastIndexOf('_'))
}

/**
 * Creates a valid id that no record has. If ids with this prefix are the public part of a secret, the id is derived from a new
 * secret.
 */
function missingId(prefix: string): string {
  const secret = { deployment_id: 'deployment', u_pk: 'u_sk', u_session_pk: 'u_session_sk' }[prefix]
  return secret === undefined ? newId(prefix as 'd') : publicIdOf(newId(secret as 'u_sk'))
}

/** Whether people who do not administer the instance may run the action. */
function isForMembers(permission: Action['permission']): boolean {
  const roles = rolesOf(permission)
  return roles.has('organizationAdmin') || roles.has('oneself') || roles.has('person')
}

function isForDevices(permission: Action['permission']): boolean {
  const roles = rolesOf(permission)
  return roles.has('device') || roles.has('linkedDevice')
}

type IdField = { field: string; prefix: string; isList: boolean }

/** Fields of an input that hold an id or a list of ids, each with the prefix of the id. */
function idFieldsOf(input: z.ZodType): IdField[] {
  type Schema = { pattern?: string; items?: Schema; anyOf?: Schema[]; properties?: Record<string, Schema> }
  const { properties = {} } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Schema
  return Object.entries(properties).flatMap(([field, schema]) =>
    [schema, ...(schema.anyOf ?? [])].flatMap(({ pattern, items }) => {
      const prefix = /^\^([a-z_]+)_\[/.exec(pattern ?? items?.pattern ?? '')?.[1]
      // A fingerprint (`d_sk`) identifies a device only within a project, so it cannot refer to a record of another tenant.
      return prefix === undefined || prefix === 'd_sk' ? [] : [{ field, prefix, isList: items !== undefined }]
    }),
  )
}

function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels))
}

/** Collects the properties of every object in a JSON schema, including nested ones. */
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

/** Creates a session, checks that it works, signs out, and returns its secret. */
async function endedSession(hub: TestHub, { userId }: TestUser): Promise<string> {
  const token = await newSession(hub, userId)
  const headers = { cookie: `muster=${token}`, origin: hub.url }
  const before = await ask(hub, '/api/v1/actions/invoke/actor_GetActor', { body: {}, headers })
  expect(before.json()).toMatchObject({ actor: { actor: 'User', userId } })
  await ask(hub, '/api/private/logout', { method: 'POST', headers })
  return token
}
