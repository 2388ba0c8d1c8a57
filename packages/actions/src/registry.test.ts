import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Action } from './define.ts'
import { newId, randomBase58 } from './ids.ts'
import { actions, findAction } from './registry.ts'

const entries = Object.entries(actions) as [string, Action][]

/** Older names that clients in the field may still use (catalogue, appendix B). */
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

  it('finds by older names nothing but what is listed, and no name twice', () => {
    const aliases = entries.flatMap(([name, action]) => action.aliases.map(alias => [alias, name]))
    expect(Object.fromEntries(aliases)).toEqual(OLDER_NAMES)
    const all = [...entries.map(([name]) => name), ...aliases.map(([alias]) => alias)]
    expect(new Set(all).size).toBe(all.length)
  })
})

describe.each(entries)('%s', (_name, action) => {
  it('says what it does in one sentence', () => {
    expect(action.summary).toMatch(/^[A-Z][^\n]{10,120}\.$/)
  })

  it('takes an object that may hold more than it knows', () => {
    expect(action.input).toBeInstanceOf(z.ZodObject)
    const { success, error } = action.input.safeParse({ somethingNewer: { deep: [1] } })
    if (!success) for (const issue of error!.issues) expect(issue.path).not.toContain('somethingNewer')
  })

  it.each([null, undefined, [], [{}], 'text', '', 7, true])('does not take %j', value => {
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

  it('is a query unless it writes', () => {
    const { shape } = action.input as z.ZodObject
    // What consists of secrets alone leaves nothing to keep.
    const hasNoSecrets = Object.keys(shape).some(field => !/password|token$/i.test(field))
    if (action.kind === 'query') expect(action.audit).toEqual([])
    else if (hasNoSecrets) expect(action.audit.length).toBeGreaterThan(0)
  })

  it('asks for the current password where it may do in place of a recent sign-in', () => {
    const { shape } = action.input as z.ZodObject
    if (action.recentSignIn) expect(shape).toHaveProperty('currentPassword')
  })

  it('takes null for each field that may be absent, and treats it as absent', () => {
    const { shape } = action.input as z.ZodObject
    for (const [field, schema] of Object.entries(shape) as [string, z.ZodType][]) {
      if (!schema.safeParse(undefined).success) continue
      expect(schema.safeParse(null), field).toMatchObject({ success: true })
      // Any JSON is the one kind of field whose null is a value.
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

  it('take an event with any body, null included, that must be there', () => {
    for (const body of [null, 0, '', false, [], {}, 'text']) expect(publishes({ ...event, body })).toBe(true)
    expect(publishes({ ...event, body: undefined })).toBe(false)
  })

  it('take an event without a category, and treat an empty one as none', () => {
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
  ])('refuse an event whose %s is none', (field, values) => {
    for (const value of values) expect(publishes({ ...event, [field]: value }), String(value)).toBe(false)
  })

  it('take 1,000 events a call, and none', () => {
    expect(publishes()).toBe(true)
    expect(publishes(...Array(1000).fill(event))).toBe(true)
    expect(publishes(...Array(1001).fill(event))).toBe(false)
  })

  it('refuse far too many events without looking at each', () => {
    const events = Array(1_000_000).fill(0)
    const { error } = actions.devices_PublishEvents.input.safeParse({ deviceId, events })
    expect(error?.issues).toHaveLength(1)
    const { error: other } = actions.devices_ClaimOperationWork.input.safeParse({ deviceId, kinds: events })
    expect(other?.issues).toHaveLength(1)
  })

  it('take a property value of any kind, null included, that must be there', () => {
    const sets = (value: object): boolean =>
      actions.devices_SetProperty.input.safeParse({ deviceId, name: 'a', ...value }).success
    for (const value of [null, 0, '', false, [], {}]) expect(sets({ value })).toBe(true)
    expect(sets({})).toBe(false)
  })

  it('take a certificate status of the specification in its own spelling', () => {
    const certificateId = newId('d_c')
    const sets = (status: unknown): boolean =>
      actions.devices_SetCertificateStatus.input.safeParse({ certificateId, status }).success
    for (const status of ['Pending', 'Active', 'Rejected', 'Revoked']) expect(sets(status)).toBe(true)
    for (const status of ['active', 'ACTIVE', 'Conflict', 'Deleted', '', null, undefined, 1])
      expect(sets(status)).toBe(false)
  })
})

describe('schemas of actors', () => {
  it('tell a device with its token, which agents insist on', () => {
    const { output } = actions.actor_GetActor
    const deviceId = newId('d')
    const tokenId = `deployment_id_${randomBase58(22)}`
    expect(output.safeParse({ actor: { actor: 'Device', deviceId, tokenId } }).success).toBe(true)
    expect(output.safeParse({ actor: { actor: 'Device', deviceId } }).success).toBe(false)
  })

  it('strip what was not meant to be told', () => {
    const actor = { actor: 'User', userId: newId('u'), isAdmin: true, sessionId: 'x' }
    expect(actions.actor_GetActor.output.parse({ actor, more: 1 })).toEqual({
      actor: { actor: 'User', userId: actor.userId },
    })
  })
})
