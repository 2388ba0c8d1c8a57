import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Action } from './define.ts'
import { newId, randomBase58 } from './id-texts.ts'
import { actions, findAction } from './registry.ts'
import { software } from './software.ts'

const entries = Object.entries(actions) as [string, Action][]

/** Older action names that deployed clients may still use, each with its current name. */
const OLDER_NAMES = {
  cluster_GetClusterDetails: 'cluster_GetDetails',
  devices_AddDeviceCertificate: 'devices_AddCertificate',
  devices_CreateDevice: 'devices_Create',
  devices_DeleteDevice: 'devices_Delete',
  devices_DeleteDeviceCertificate: 'devices_DeleteCertificate',
  devices_Devices: 'devices_Query',
  devices_GetDeviceDetails: 'devices_GetDetails',
  devices_GetDeviceProperty: 'devices_GetProperty',
  devices_IssueDeviceHttpProxyToken: 'devices_IssueHttpProxyToken',
  devices_PublishDeviceEvents: 'devices_PublishEvents',
  devices_QueryDeviceEvents: 'devices_QueryEvents',
  devices_QueryDeviceProperties: 'devices_QueryProperties',
  devices_QueryDevices: 'devices_Query',
  devices_SetDeviceCertificateStatus: 'devices_SetCertificateStatus',
  devices_SetDeviceName: 'devices_SetName',
  devices_SetDeviceProperty: 'devices_SetProperty',
  instance_GetInstanceStatistics: 'instance_GetStatistics',
  jobs_QueryJobs: 'jobs_Query',
  projects_AddProjectRepository: 'projects_LinkRepository',
  projects_CreateProject: 'projects_Create',
  projects_DeleteProject: 'projects_Delete',
  projects_GetProjectDetails: 'projects_GetDetails',
  projects_QueryProjectDeploymentTokens: 'projects_QueryDeploymentTokens',
  projects_QueryProjectDevices: 'projects_QueryDevices',
  projects_QueryProjectRepositories: 'projects_QueryLinkedRepositories',
  projects_QueryProjects: 'projects_Query',
  projects_RemoveProjectRepository: 'projects_UnlinkRepository',
  repositories_AddPackageVersionAsset: 'repositories_AddVersionAsset',
  repositories_CreatePackageVersion: 'repositories_CreateVersion',
  repositories_CreateRepository: 'repositories_Create',
  repositories_DeletePackageVersion: 'repositories_DeleteVersion',
  repositories_DeleteRepository: 'repositories_Delete',
  repositories_GetPackageVersionDetails: 'repositories_GetVersionDetails',
  repositories_GetRepositoryDetails: 'repositories_GetDetails',
  repositories_GetRepositoryS3Config: 'repositories_GetS3Config',
  repositories_QueryAuditLogEvents: 'repositories_QueryAuditLog',
  repositories_QueryRepositoryAssets: 'repositories_QueryAssets',
  repositories_QueryRepositoryPackages: 'repositories_QueryPackages',
  repositories_QueryRepositoryProjects: 'repositories_QueryLinkedProjects',
  repositories_RemovePackageVersionAsset: 'repositories_RemoveVersionAsset',
  repositories_ResolvePackageVersionAssetByPath: 'repositories_ResolveVersionAssetByPath',
  repositories_ResolvePackageVersionByPath: 'repositories_ResolveVersionByPath',
  repositories_ResolveRepositoryName: 'repositories_ResolveName',
  repositories_SetRepositoryS3Config: 'repositories_SetS3Config',
  repositories_SetRepositoryVisibility: 'repositories_SetVisibility',
  repositories_TagPackageVersion: 'repositories_TagVersion',
  repositories_UntagPackageVersion: 'repositories_UntagVersion',
  users_CreateUser: 'users_Create',
  users_CreateUserToken: 'users_CreateToken',
  users_DeleteUser: 'users_Delete',
  users_DeleteUserToken: 'users_DeleteToken',
  users_GetUserDetails: 'users_GetDetails',
  users_QueryUserSessions: 'users_QuerySessions',
  users_QueryUserTokens: 'users_QueryTokens',
  users_QueryUsers: 'users_Query',
  users_RegisterUser: 'users_Register',
  users_SetUserDisplayName: 'users_SetDisplayName',
  users_SetUserIsAdmin: 'users_SetIsAdmin',
  users_SetUserPassword: 'users_SetPassword',
  users_TerminateUserSession: 'users_TerminateSession',
} as const

/**
 * Actions with a cost that count devices, measure the instance, or read many past rows of a device. The test finds others by `software` and
 * the input field `filters`.
 */
const COUNTS = [
  'repositories_GetFollowers',
  'instance_GetHealth',
  'jobs_GetSummary',
  'devices_GetConnectionHistory',
  'devices_GetProblemRun',
]

describe('findAction', () => {
  it.each([
    'constructor',
    'toString',
    'valueOf',
    'hasOwnProperty',
    '__proto__',
    '__defineGetter__',
    'prototype',
    '',
    ' ',
    'devices_setname',
    'devices_SetName ',
    'devices_',
    'devices_SetName\0',
    'devices.SetName',
  ])('knows no action named %j', name => {
    expect(findAction(name)).toBeUndefined()
  })

  it('finds every action by its own name', () => {
    for (const [name, action] of entries) expect(findAction(name)).toEqual({ name, action })
  })

  it.each(Object.entries(OLDER_NAMES))('finds %s as %s', (older, name) => {
    expect(findAction(older)).toEqual({ name, action: actions[name] })
  })

  it('knows no other older names, and no name twice', () => {
    const aliases = entries.flatMap(([name, action]) => action.aliases.map(alias => [alias, name]))
    expect(Object.fromEntries(aliases)).toEqual(OLDER_NAMES)
    const all = [...entries.map(([name]) => name), ...aliases.map(([alias]) => alias)]
    expect(new Set(all).size).toBe(all.length)
  })
})

describe.each(entries)('%s', (name, action) => {
  it('says what it does in one sentence', () => {
    expect(action.summary).toMatch(/^[A-Z][^\n]{10,120}\.$/)
  })

  it('accepts an object with unknown fields', () => {
    expect(action.input).toBeInstanceOf(z.ZodObject)
    const { success, error } = action.input.safeParse({ somethingNewer: { deep: [1] } })
    if (!success) for (const issue of error!.issues) expect(issue.path).not.toContain('somethingNewer')
  })

  it.each([null, undefined, [], [{}], 'text', '', 7, true])('refuses %j', value => {
    expect(action.input.safeParse(value).success).toBe(false)
  })

  it('names fields of its own input for its permission and its audit row', () => {
    const { shape } = action.input as z.ZodObject
    if (typeof action.permission === 'object') {
      const { id, orOneself = id } = action.permission
      for (const field of [id, orOneself]) expect(shape).toHaveProperty(field)
    }
    for (const field of action.audit) expect(shape).toHaveProperty(field)
  })

  it('declares its cost exactly if it searches by a text or a filter', () => {
    const { shape } = action.input as z.ZodObject
    const filter = shape.filter as z.ZodPipe<z.ZodOptional<z.ZodNullable<z.ZodObject>>> | undefined
    const conditions = Object.keys(filter?.in.unwrap().unwrap().shape ?? {})
    const isSearch = shape.text !== undefined || (action.kind === 'query' && shape.selection !== undefined)
    const isCount = shape.filters !== undefined || Object.hasOwn(software, name) || COUNTS.includes(name)
    // An action with a text, a selection or filter conditions always declares a cost. Of all other actions, only those that count devices,
    // measure the instance or read many past rows of a device do.
    if (isSearch) expect(['scan', 'brief']).toContain(action.cost)
    // The preview of a bulk action finds the devices of a filter.
    else if (shape.selection !== undefined) expect(action.cost).toBe('scan if filtered')
    else if (conditions.length > 0)
      expect(['scan if filtered', 'scan', 'bounded', 'brief']).toContain(action.cost)
    else expect(action.cost).toBe(isCount ? 'brief' : undefined)
  })

  it('is a query unless it writes', () => {
    const { shape } = action.input as z.ZodObject
    // If all input fields are secrets, there is nothing to audit.
    const hasNoSecrets = Object.keys(shape).some(field => !/password|token$/i.test(field))
    // A preference is stored, and leaves no audit row.
    if (action.kind === 'query' || action.kind === 'preference') expect(action.audit).toEqual([])
    else if (hasNoSecrets) expect(action.audit.length).toBeGreaterThan(0)
  })

  it('has a field for the current password if it needs a recent sign-in', () => {
    const { shape } = action.input as z.ZodObject
    if (action.recentSignIn) expect(shape).toHaveProperty('currentPassword')
  })

  it('accepts null for each optional field, and treats it as absent', () => {
    const { shape } = action.input as z.ZodObject
    for (const [field, schema] of Object.entries(shape) as [string, z.ZodType][]) {
      if (!schema.safeParse(undefined).success) continue
      expect(schema.safeParse(null), field).toMatchObject({ success: true })
      // `null` is a value only in a field that accepts any JSON. In all other fields it means absent.
      expect(schema.parse(null), field).toBeUndefined()
    }
  })
})

describe('schemas of devices', () => {
  const deviceId = newId('d')
  const event = {
    eventId: 'd_ev_20261121-1203-17czX8X1',
    severity: 'Info',
    body: null,
    attributes: {},
    emittedAt: '2026-11-21T12:03:04.123456789Z',
  }
  const publishes = (...events: unknown[]): boolean =>
    actions.devices_PublishEvents.input.safeParse({ deviceId, events }).success

  it('accept an event with any body, including null, and require one', () => {
    for (const body of [null, 0, '', false, [], {}, 'text']) expect(publishes({ ...event, body })).toBe(true)
    expect(publishes({ ...event, body: undefined })).toBe(false)
  })

  it('accept an event without a category, and treat an empty one as none', () => {
    for (const category of [undefined, null, '', ' ']) {
      const parsed = actions.devices_PublishEvents.input.parse({
        deviceId,
        events: [{ ...event, category }],
      } as never)
      expect(parsed.events[0]?.category).toBeUndefined()
    }
  })

  it('limit the category of an event to 128 characters that can be stored', () => {
    for (const category of ['ota', 'x'.repeat(128), '😀'.repeat(128)])
      expect(publishes({ ...event, category })).toBe(true)
    for (const category of ['x'.repeat(129), 'a\0b', '\ud800', 7, {}])
      expect(publishes({ ...event, category })).toBe(false)
  })

  it.each([
    ['severity', ['info', 'INFO', 'Fatal', '', null, undefined, 3]],
    ['attributes', [null, undefined, [], 'a', 7]],
    ['emittedAt', [null, undefined, '', 'now', 1_700_000_000, '2026-11-21T12:03:04']],
    ['eventId', [null, undefined, '', deviceId, 'd_ev_2026-11-21']],
  ])('refuse an event with an invalid %s', (field, values) => {
    for (const value of values) expect(publishes({ ...event, [field]: value }), String(value)).toBe(false)
  })

  it('accept 1,000 events a call, and an empty list', () => {
    expect(publishes()).toBe(true)
    expect(publishes(...Array(1000).fill(event))).toBe(true)
    expect(publishes(...Array(1001).fill(event))).toBe(false)
  })

  it('refuse far too many events without checking each', () => {
    const events = Array(1_000_000).fill(0)
    const { error } = actions.devices_PublishEvents.input.safeParse({ deviceId, events })
    expect(error?.issues).toHaveLength(1)
    const { error: other } = actions.devices_ClaimOperationWork.input.safeParse({ deviceId, kinds: events })
    expect(other?.issues).toHaveLength(1)
  })

  it('accept any property value, including null, and require one', () => {
    const sets = (value: object): boolean =>
      actions.devices_SetProperty.input.safeParse({ deviceId, name: 'a', ...value }).success
    for (const value of [null, 0, '', false, [], {}]) expect(sets({ value })).toBe(true)
    expect(sets({})).toBe(false)
  })

  it('accept a certificate status only in the spelling of the specification', () => {
    const certificateId = newId('d_c')
    const sets = (status: unknown): boolean =>
      actions.devices_SetCertificateStatus.input.safeParse({ certificateId, status }).success
    for (const status of ['Pending', 'Active', 'Rejected', 'Revoked']) expect(sets(status)).toBe(true)
    for (const status of ['active', 'ACTIVE', 'Conflict', 'Deleted', '', null, undefined, 1])
      expect(sets(status)).toBe(false)
  })
})

describe('results of commands', () => {
  const DONE = [
    'Passed',
    'Created',
    'Completed',
    'Success',
    'Added',
    'Set',
    'Updated',
    'Deleted',
    'AssetAlreadyExists',
  ]
  /** Commands that have done their part when they answer `Pending`. A second sign-up with this answer has done nothing. */
  const DONE_WHEN_PENDING = ['users_InitiateEmailChange']

  it('C7: are declared as failures unless they mean success', () => {
    for (const [name, { kind, output, failedResults }] of entries) {
      const shapes = (output instanceof z.ZodUnion ? output.options : [output]) as z.ZodObject[]
      const results = shapes.flatMap(({ shape }) =>
        shape?.result instanceof z.ZodLiteral ? [...shape.result.values] : [],
      )
      const isDone = (result: unknown) =>
        DONE.includes(String(result)) || (result === 'Pending' && DONE_WHEN_PENDING.includes(name))
      const isFailure = (result: unknown) => kind !== 'query' && !isDone(result)
      expect([...failedResults].sort(), name).toEqual(results.filter(isFailure).sort())
    }
  })
})

describe('schemas of actors', () => {
  it('contain the token of a device, which agents require', () => {
    const { output } = actions.actor_GetActor
    const deviceId = newId('d')
    const tokenId = `deployment_id_${randomBase58(22)}`
    expect(output.safeParse({ actor: { actor: 'Device', deviceId, tokenId } }).success).toBe(true)
    expect(output.safeParse({ actor: { actor: 'Device', deviceId } }).success).toBe(false)
  })

  it('strip undeclared fields', () => {
    const actor = { actor: 'User', userId: newId('u'), isAdmin: true, sessionId: 'x' }
    expect(actions.actor_GetActor.output.parse({ actor, more: 1 })).toEqual({
      actor: { actor: 'User', userId: actor.userId },
    })
  })
})
