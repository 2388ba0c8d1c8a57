import { randomBytes } from 'node:crypto'
import {
  type Action,
  ActionError,
  type ActionInput,
  type ActionName,
  actions,
  newDatedId,
  newId,
  publicIdOf,
  type Role,
  randomBase58,
  rolesOf,
} from '@muster/actions'
import {
  ask,
  assetRow,
  capturedLog,
  connectDevice,
  deviceRow,
  type FakeDevice,
  type FakeS3,
  fakeS3,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Caller } from '../caller.ts'
import type { Handlers } from '../handler.ts'
import { hashSecret } from '../secrets.ts'
import { handlers } from './index.ts'

const PROXY_SECRET = 'only our proxy knows'

/** Verbs of the public definitions: a new action uses one of these, or what the decisions name it. */
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
  'Search',
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
  'revokedToken',
  'stranger',
  'member',
  'organizationAdmin',
  'instanceAdmin',
  'userToken',
  'ownDevice',
  'siblingDevice',
  'foreignDevice',
  'clusterNode',
] as const
type ActorName = (typeof ACTORS)[number]

/** What each actor is to the things of the rows below, where the repository is private; the user token is the member's. */
const ACTOR_ROLES: Record<ActorName, readonly Role[]> = {
  nobody: ['anyone'],
  expiredSession: ['anyone'],
  endedSession: ['anyone'],
  revokedToken: ['anyone'],
  stranger: ['anyone', 'person'],
  member: ['anyone', 'person', 'oneself', 'member'],
  organizationAdmin: ['anyone', 'person', 'organizationAdmin'],
  instanceAdmin: ['anyone', 'person', 'instanceAdmin'],
  userToken: ['anyone', 'person', 'oneself', 'member'],
  ownDevice: ['anyone', 'device', 'linkedDevice'],
  siblingDevice: ['anyone', 'linkedDevice'],
  foreignDevice: ['anyone'],
  clusterNode: ['anyone'],
}

const WITHOUT_CREDENTIALS: readonly ActorName[] = ['nobody', 'expiredSession', 'endedSession', 'revokedToken']
/** People of the organization; the user token is the member's. */
const MEMBERS: readonly ActorName[] = ['member', 'organizationAdmin', 'userToken']
const READERS: readonly ActorName[] = [...MEMBERS, 'instanceAdmin']
const PEOPLE: readonly ActorName[] = [...READERS, 'stranger']
/** Who keeps the members of the organization. */
const KEEPERS: readonly ActorName[] = ['organizationAdmin', 'instanceAdmin']
/** Who reads a private repository that is linked to the project. */
const REPOSITORY_READERS: readonly ActorName[] = [...READERS, 'ownDevice', 'siblingDevice']
const ONESELF: readonly ActorName[] = ['member', 'userToken']
const ONESELF_OR_ADMIN: readonly ActorName[] = [...ONESELF, 'instanceAdmin']

/** What the rows below act on: an organization with people and devices, and a stranger with one of their own. */
type World = {
  hub: TestHub
  people: Record<'member' | 'organizationAdmin' | 'instanceAdmin' | 'stranger', TestUser>
  devices: Record<'ownDevice' | 'siblingDevice' | 'foreignDevice', FakeDevice>
  organizationId: string
  projectId: string
  tokenId: string
  deviceId: string
  s3: FakeS3
} & RepositoryIds

/** A repository with what is in it. */
type RepositoryIds = { repositoryId: string; packageId: string; versionId: string; assetId: string }

/** An account, as far as rows need to know it. */
type Person = { userId: string; email: string }

type Row<N extends ActionName> = {
  /**
   * An input that is valid, on things of the world's organization and of one person, the member unless another is given; what is
   * deleted or changed for good is made for each call.
   */
  input: (world: World, oneself: Person) => ActionInput<N> | Promise<ActionInput<N>>
  /** Who may run it; everybody else is refused. */
  may: readonly ActorName[]
}

/** Every action, with who may run it on something of the organization. An action without a row does not compile. */
const ROWS: { [N in ActionName]: Row<N> } = {
  actor_GetActor: { input: () => ({}), may: ACTORS },
  users_Query: { input: () => ({}), may: ['instanceAdmin'] },
  users_GetDetails: { input: (_, { userId }) => ({ userId }), may: ONESELF_OR_ADMIN },
  users_Create: { input: () => ({ email: newEmail(), displayName: 'Eve' }), may: ['instanceAdmin'] },
  users_Delete: {
    input: async world => ({ userId: (await anotherPerson(world)).userId }),
    may: ['instanceAdmin'],
  },
  users_SetIsAdmin: {
    input: async world => ({ userId: (await anotherPerson(world)).userId, isAdmin: true }),
    may: ['instanceAdmin'],
  },
  users_SetDisplayName: {
    input: (_, { userId }) => ({ userId, displayName: 'Renamed' }),
    may: ONESELF_OR_ADMIN,
  },
  users_SetPassword: {
    input: ({ people }, { userId }) => ({ userId, password: people.member.password }),
    may: ['member', 'instanceAdmin'],
  },
  users_ChangePassword: {
    input: ({ people: { member } }, { userId }) => ({
      userId,
      currentPassword: member.password,
      newPassword: member.password,
    }),
    may: ONESELF,
  },
  users_ResetPassword: { input: () => ({ email: newEmail() }), may: ACTORS },
  users_CompletePasswordReset: {
    input: ({ people }) => ({ resetToken: 'no JWT', password: people.member.password }),
    may: ACTORS,
  },
  users_Register: {
    input: ({ people }) => ({
      email: newEmail(),
      password: people.member.password,
      consentedToTerms: true as const,
    }),
    may: ACTORS,
  },
  users_ResendRegistrationEmail: { input: () => ({ email: newEmail() }), may: ACTORS },
  users_CompleteRegistration: { input: () => ({ activationToken: 'no JWT' }), may: ACTORS },
  users_QueryOrganizations: { input: (_, { userId }) => ({ userId }), may: ONESELF_OR_ADMIN },
  users_QueryOrganizationInvitations: { input: (_, { userId }) => ({ userId }), may: ONESELF_OR_ADMIN },
  users_AcceptOrganizationInvitation: {
    input: async (world, { email }) => ({
      invitationId: await anotherInvitation(world, await anotherOrganization(world), email),
    }),
    may: ONESELF,
  },
  users_GetDevicePermissions: {
    input: ({ deviceId }, { userId }) => ({ userId, deviceId }),
    may: ONESELF_OR_ADMIN,
  },
  users_QuerySessions: { input: (_, { userId }) => ({ userId }), may: ONESELF_OR_ADMIN },
  users_TerminateSession: {
    input: async ({ hub }, { userId }) => ({ sessionId: publicIdOf(await newSession(hub, userId)) as never }),
    may: ONESELF,
  },
  users_QueryTokens: { input: (_, { userId }) => ({ userId }), may: ONESELF_OR_ADMIN },
  users_CreateToken: { input: (_, { userId }) => ({ userId, name: 'Another token' }), may: ['member'] },
  users_DeleteToken: {
    input: async ({ hub }, person) => ({ tokenId: publicIdOf(await hub.userToken(person as TestUser)) }),
    may: ONESELF_OR_ADMIN,
  },

  organizations_Query: { input: () => ({}), may: PEOPLE },
  organizations_Create: { input: () => ({ name: 'Another organization' }), may: PEOPLE },
  organizations_Delete: {
    input: async (world, person) => ({ organizationId: await anotherOrganization(world, person) }),
    may: KEEPERS,
  },
  organizations_SetName: {
    input: ({ organizationId }) => ({ organizationId, name: 'Renamed' }),
    may: KEEPERS,
  },
  organizations_QueryProjects: { input: ({ organizationId }) => ({ organizationId }), may: READERS },
  organizations_QueryRepositories: { input: ({ organizationId }) => ({ organizationId }), may: READERS },
  organizations_Search: { input: ({ organizationId }) => ({ organizationId, text: 'a' }), may: READERS },
  organizations_QueryMembers: { input: ({ organizationId }) => ({ organizationId }), may: READERS },
  organizations_AddMember: {
    input: async world => ({
      organizationId: world.organizationId,
      userId: (await anotherPerson(world)).userId,
    }),
    may: ['instanceAdmin'],
  },
  organizations_SetMemberIsAdmin: {
    input: async world => ({
      organizationId: world.organizationId,
      userId: (await anotherPerson(world, world.organizationId)).userId,
      isAdmin: true,
    }),
    may: KEEPERS,
  },
  organizations_RemoveMember: {
    input: async (world, person) => ({
      organizationId: await anotherOrganization(world, person),
      userId: person.userId,
    }),
    may: [...ONESELF, ...KEEPERS],
  },
  organizations_QueryInvitations: { input: ({ organizationId }) => ({ organizationId }), may: READERS },
  organizations_InviteMember: {
    input: ({ organizationId }) => ({ organizationId, email: newEmail() }),
    may: KEEPERS,
  },
  organizations_DeleteInvitation: {
    input: async world => ({
      invitationId: await anotherInvitation(world, world.organizationId, newEmail()),
    }),
    may: KEEPERS,
  },
  organizations_QueryAuditLog: { input: ({ organizationId }) => ({ organizationId }), may: READERS },

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
  projects_QueryAuditLog: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_QueryLinkedRepositories: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_LinkRepository: {
    input: ({ projectId, repositoryId }) => ({ projectId, repositoryId }),
    may: MEMBERS,
  },
  projects_UnlinkRepository: {
    input: async world => {
      const repositoryId = await newRepository(world.hub, world.organizationId)
      await linkRepository(world, repositoryId)
      return { projectId: world.projectId, repositoryId }
    },
    may: READERS,
  },

  repositories_Create: {
    input: ({ organizationId }) => ({ organizationId, name: newName() }),
    may: MEMBERS,
  },
  repositories_GetDetails: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: REPOSITORY_READERS,
  },
  repositories_Delete: {
    input: async ({ hub, organizationId }) => ({ repositoryId: await newRepository(hub, organizationId) }),
    may: READERS,
  },
  repositories_SetVisibility: {
    input: async ({ hub, organizationId }) => ({
      repositoryId: await newRepository(hub, organizationId),
      visibility: 'Public',
    }),
    may: MEMBERS,
  },
  repositories_SetDisplayName: {
    input: ({ repositoryId }) => ({ repositoryId, displayName: 'Renamed' }),
    may: MEMBERS,
  },
  repositories_SetSlug: { input: ({ repositoryId }) => ({ repositoryId, slug: newName() }), may: MEMBERS },
  repositories_SetOrganization: {
    input: async ({ hub, organizationId }) => ({
      repositoryId: await newRepository(hub, organizationId),
      organizationId,
    }),
    may: ['instanceAdmin'],
  },
  repositories_QueryPackages: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: REPOSITORY_READERS,
  },
  repositories_QueryAssets: { input: ({ repositoryId }) => ({ repositoryId }), may: REPOSITORY_READERS },
  repositories_QueryLinkedProjects: { input: ({ repositoryId }) => ({ repositoryId }), may: READERS },
  repositories_GetS3Config: { input: ({ repositoryId }) => ({ repositoryId }), may: READERS },
  repositories_SetS3Config: {
    input: async ({ hub, organizationId, s3 }) => ({
      repositoryId: await newRepository(hub, organizationId),
      s3Endpoint: s3.endpoint,
      s3Bucket: s3.bucket,
      s3AccessKeyId: s3.accessKeyId,
      s3SecretAccessKey: s3.secretAccessKey,
    }),
    may: MEMBERS,
  },
  repositories_ResolveName: { input: ({ repositoryId }) => ({ repository: repositoryId }), may: ACTORS },
  repositories_ResolvePackageByPath: {
    input: ({ repositoryId, packageId }) => ({ repository: repositoryId, package: packageId }),
    may: ACTORS,
  },
  repositories_ResolveVersionByPath: {
    input: ({ repositoryId, packageId, versionId }) => ({
      repository: repositoryId,
      package: packageId,
      tag: versionId,
    }),
    may: ACTORS,
  },
  repositories_ResolveVersionAssetByPath: {
    input: ({ repositoryId, packageId, versionId }) => ({
      repository: repositoryId,
      package: packageId,
      tag: versionId,
      filename: 'file',
    }),
    may: ACTORS,
  },
  repositories_GetPackageDetails: { input: ({ packageId }) => ({ packageId }), may: REPOSITORY_READERS },
  repositories_CreatePackage: {
    input: ({ repositoryId }) => ({ repositoryId, name: newName(), metadata: { a: 1 } }),
    may: MEMBERS,
  },
  repositories_DeletePackage: {
    input: async ({ hub, repositoryId }) => ({ packageId: await newPackage(hub, repositoryId) }),
    may: READERS,
  },
  repositories_SetPackageName: { input: ({ packageId }) => ({ packageId, name: newName() }), may: MEMBERS },
  repositories_SetPackageKind: { input: ({ packageId }) => ({ packageId, kind: 'image' }), may: MEMBERS },
  repositories_SetPackageMetadata: {
    input: ({ packageId }) => ({ packageId, metadata: { a: [1] } }),
    may: MEMBERS,
  },
  repositories_AddPackageAsset: {
    input: ({ packageId, assetId }) => ({ packageId, assetId, filename: newName() }),
    may: MEMBERS,
  },
  repositories_RemovePackageAsset: {
    input: async world => ({ packageId: world.packageId, filename: await newPackageFile(world) }),
    may: MEMBERS,
  },
  repositories_SetPackageAssetMetadata: {
    input: async world => ({
      packageId: world.packageId,
      filename: await newPackageFile(world),
      metadata: {},
    }),
    may: MEMBERS,
  },
  repositories_QueryPackageVersions: { input: ({ packageId }) => ({ packageId }), may: REPOSITORY_READERS },
  repositories_GetVersionDetails: { input: ({ versionId }) => ({ versionId }), may: REPOSITORY_READERS },
  repositories_CreateVersion: {
    input: ({ packageId }) => ({ packageId, tags: [{ tag: 'stable' }] }),
    may: MEMBERS,
  },
  repositories_DeleteVersion: {
    input: async ({ hub, packageId }) => ({ versionId: await newVersion(hub, packageId) }),
    may: READERS,
  },
  repositories_SetVersionName: { input: ({ versionId }) => ({ versionId, name: 'Summer' }), may: MEMBERS },
  repositories_SetVersionMetadata: {
    input: ({ versionId }) => ({ versionId, metadata: { a: [1] } }),
    may: MEMBERS,
  },
  repositories_TagVersion: {
    input: ({ versionId }) => ({ versionId, tags: [{ tag: 'stable' }] }),
    may: MEMBERS,
  },
  repositories_UntagVersion: {
    input: async ({ hub, packageId, versionId }) => {
      const tag = newName()
      await hub.db
        .insertInto('package_tag')
        .values({ package_id: packageId, version_id: versionId, tag })
        .execute()
      return { versionId, tags: [{ tag }] }
    },
    may: MEMBERS,
  },
  repositories_AddVersionAsset: {
    input: ({ versionId, assetId }) => ({ versionId, assetId, filename: newName() }),
    may: MEMBERS,
  },
  repositories_RemoveVersionAsset: {
    input: async world => ({ versionId: world.versionId, filename: await newVersionFile(world) }),
    may: MEMBERS,
  },
  repositories_SetVersionAssetMetadata: {
    input: async world => ({
      versionId: world.versionId,
      filename: await newVersionFile(world),
      metadata: {},
    }),
    may: MEMBERS,
  },
  repositories_GetAssetDetails: { input: ({ assetId }) => ({ assetId }), may: REPOSITORY_READERS },
  repositories_CreateAsset: {
    input: ({ repositoryId }) => ({ repositoryId, size: 7, digest: newDigest() }),
    may: MEMBERS,
  },
  repositories_DeleteAsset: {
    input: async ({ hub, repositoryId }) => ({ assetId: await assetRow(hub, repositoryId) }),
    may: READERS,
  },
  repositories_IssueAssetUploadUrl: { input: ({ assetId }) => ({ assetId }), may: MEMBERS },
  repositories_FinalizeAssetUpload: { input: ({ assetId }) => ({ assetId }), may: MEMBERS },
  repositories_IssueAssetDownloadUrl: {
    input: ({ assetId }) => ({ assetId, filename: 'image.bin' }),
    may: REPOSITORY_READERS,
  },
  repositories_QueryAuditLog: { input: ({ repositoryId }) => ({ repositoryId }), may: READERS },

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
  devices_QueryPropertyHistory: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property' }),
    may: READERS,
  },
  devices_Create: {
    input: ({ projectId }) => ({ projectId, fingerprint: newFingerprint() }),
    may: MEMBERS,
  },
  devices_IssueDeviceToken: {
    input: ({ deviceId }) => ({ deviceId, validForSecs: 60, claims: { role: 'camera' } }),
    may: [...MEMBERS, 'ownDevice'],
  },
  devices_ValidateDeviceToken: { input: () => ({ jwt: 'no JWT' }), may: ACTORS },
  devices_IssueHttpProxyToken: {
    input: ({ deviceId }) => ({ deviceId, validForSecs: 60, port: 8080 }),
    may: MEMBERS,
  },
  devices_ClaimOperationWork: {
    input: ({ deviceId }) => ({ deviceId, limit: 1, kinds: ['DeviceCommand'] }),
    may: ['ownDevice'],
  },
  devices_QueryAuditLog: { input: ({ deviceId }) => ({ deviceId }), may: READERS },

  instance_GetStatistics: { input: () => ({}), may: ['instanceAdmin'] },
  cluster_GetDetails: { input: () => ({}), may: ['instanceAdmin'] },
  jobs_Query: { input: () => ({}), may: ['instanceAdmin'] },
  audit_QueryAuditLogEvents: { input: () => ({}), may: ['instanceAdmin'] },
  audit_QueryAuditLogActions: { input: () => ({}), may: ['instanceAdmin'] },
}

const entries = Object.entries(actions) as [ActionName, Action][]
const scoped = entries.filter(([, { permission }]) => typeof permission === 'object')
const withIds = entries.filter(([, { input }]) => idFieldsOf(input).length > 0)

const captured = capturedLog()
let world: World
/** A repository of the stranger's that everybody reads. */
let open: RepositoryIds
let expiredToken: string
let endedToken: string
let memberToken: string
let revokedToken: string
/** Everything by which a stranger would know the organization, its people, or what the instance made for itself. */
let notForStrangers: string[]
/** Things of the stranger's organization by the prefix of their id. */
let foreign: Record<string, string>

beforeAll(async () => {
  // Calls may come from any address, so that no limit on one of them is met here.
  const settings = { trustedProxies: ['127.0.0.1'], proxySecret: PROXY_SECRET }
  const hub = await testHub({ ...settings, outboundAllow: ['127.0.0.0/8'] }, captured.log)
  const instanceOwn = await hub.pool.query<{ id: string }>(
    `select organization_id as id from organization union all select project_id from project
     union all select token_id from deployment_token union all select user_id from "user"`,
  )
  const member = await hub.user()
  const organizationAdmin = await hub.user()
  const instanceAdmin = await hub.user({ isAdmin: true })
  const stranger = await hub.user()
  const organizationId = await hub.organization(organizationAdmin, [member])
  const projectId = await hub.project(organizationAdmin, organizationId)
  const { tokenId, token } = await hub.token(organizationAdmin, projectId)
  const foreignOrganizationId = await hub.organization(stranger)
  const foreignProjectId = await hub.project(stranger, foreignOrganizationId)
  const foreignToken = await hub.token(stranger, foreignProjectId)
  const [ownDevice, siblingDevice, foreignDevice] = await Promise.all(
    [token, token, foreignToken.token].map(one => connectDevice({ url: hub.url, token: one })),
  )
  world = {
    hub,
    people: { member, organizationAdmin, instanceAdmin, stranger },
    devices: { ownDevice: ownDevice!, siblingDevice: siblingDevice!, foreignDevice: foreignDevice! },
    organizationId,
    projectId,
    tokenId,
    deviceId: ownDevice!.deviceId,
    s3: await fakeS3(),
    ...(await filledRepository(hub, organizationId)),
  }
  await linkRepository(world, world.repositoryId)
  open = await filledRepository(hub, foreignOrganizationId, 'Public')
  const closed = await filledRepository(hub, foreignOrganizationId)
  foreign = {
    u: stranger.userId,
    u_pk: publicIdOf(await hub.userToken(stranger)),
    u_session_pk: publicIdOf(await newSession(hub, stranger.userId)),
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
  }
  notForStrangers = [
    ...instanceOwn.rows.map(({ id }) => id),
    ...[organizationId, projectId, tokenId, world.deviceId, siblingDevice!.deviceId],
    ...[world.repositoryId, world.packageId, world.versionId, world.assetId],
    ...[member, organizationAdmin, instanceAdmin].flatMap(({ userId, email }) => [userId, email]),
  ]
  memberToken = await hub.userToken(member)
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
    const [, verb] = /^[a-z]+_([A-Z][a-z]+)([A-Z][a-z]+|S3)*$/.exec(name) ?? []
    expect(VERBS).toContain(verb)
    // What only reads says so, and what writes does not sound as if it only read.
    const isReading = ['Get', 'Query', 'Resolve', 'Search', 'Validate'].includes(verb!)
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
      const input = await ROWS[name].input(world, world.people.member)
      const outcome = await run(actor, name, input)
      const refused = WITHOUT_CREDENTIALS.includes(actor) ? '401 Forbidden' : '403 Forbidden'
      const expected = ROWS[name].may.includes(actor) ? '200' : refused
      expect(outcome.told, `${actor} runs ${name}`).toBe(expected)
      if (permission === 'anyone') expect(outcome.told).toBe('200')
      // What a stranger is told has nothing of the organization in it, not even in lists.
      if (actor === 'stranger')
        for (const one of notForStrangers) expect(outcome.text, name).not.toContain(one)
    }
  })

  it.each(entries)('%s is in the documents as it is in the table', async (name, action) => {
    const roles = rolesOf(action.permission)
    const input = (await ROWS[name].input(world, world.people.member)) as never
    const token = { actor: 'UserToken', userId: world.people.member.userId } as const
    const told = ACTORS.filter(actor => {
      // A token alone is no recent sign-in.
      if (actor === 'userToken' && action.recentSignIn?.isNeeded(input, token)) return false
      return ACTOR_ROLES[actor].some(role => roles.has(role))
    })
    expect([...ROWS[name].may].sort()).toEqual(told.sort())
  })

  it.each(scoped)('%s ends for what is not there as for what is foreign, to the byte', async name => {
    const { permission } = actions[name] as Action
    if (typeof permission === 'string') throw new Error('not scoped')
    const input = (await ROWS[name].input(world, world.people.member)) as Record<string, string>
    const missing = { ...input, [permission.id]: missingId(prefixOf(input[permission.id]!)) }
    const path = `/api/v1/actions/invoke/${name}`
    const [toForeign, toMissing] = await Promise.all(
      [input, missing].map(body => ask(world.hub, path, { as: world.people.stranger, body })),
    )
    expect(toForeign!.status).toBe(403)
    expect(comparable(toMissing!)).toEqual(comparable(toForeign!))

    const { siblingDevice, foreignDevice } = world.devices
    // The other device of the project reads its repository as well.
    const device = rolesOf(permission).has('linkedDevice') ? foreignDevice : siblingDevice
    const [foreignToDevice, absentToDevice] = await Promise.all(
      [input, missing].map(one => device.invoke(name, one).catch((error: Error) => error.message)),
    )
    expect(absentToDevice).toBe(foreignToDevice)
    expect(foreignToDevice).toBe(toForeign!.json().message)
  })

  it.each(withIds)('%s tells nothing of a foreign thing, whichever field it stands in', async name => {
    const { permission, input: schema } = actions[name] as Action
    const roles = rolesOf(permission)
    const path = `/api/v1/actions/invoke/${name}`
    const person = await anotherPerson(world, world.organizationId, { isOrganizationAdmin: true })
    const cookie = `muster=${await newSession(world.hub, person.userId)}`
    for (const { field, prefix, isList } of idFieldsOf(schema)) {
      const swapped = async (id: string): Promise<object> => {
        const input = (await ROWS[name].input(world, person)) as Record<string, unknown>
        return { ...input, [field]: isList ? [id] : id }
      }
      const ids = [foreign[prefix]!, missingId(prefix)]
      expect(ids[0], `a foreign ${prefix}`).toBeDefined()
      // Who administers the instance may know what there is; everybody else and every device may not.
      if (roles.has('organizationAdmin') || roles.has('oneself') || roles.has('person')) {
        const [toForeign, toMissing] = await Promise.all(
          ids.map(async id => {
            const headers = { cookie, origin: world.hub.url }
            return comparable(await ask(world.hub, path, { headers, body: await swapped(id) }), id)
          }),
        )
        expect(toForeign, field).toEqual(toMissing)
        // A question that is answered with no for whatever is not there.
        if (field === 'deviceId' && name === 'users_GetDevicePermissions')
          expect(toForeign).toMatchObject({ status: 200, body: '{"hasAccess":false}' })
        else expect(toForeign).not.toMatchObject({ status: 200 })
      }
      if (roles.has('device') || roles.has('linkedDevice')) {
        const [toForeign, toMissing] = await Promise.all(
          ids.map(async id =>
            world.devices.ownDevice.invoke(name, await swapped(id)).catch((error: Error) => error.message),
          ),
        )
        expect(toForeign, field).toBe(toMissing)
        expect(toForeign).toBe('You are not permitted to do this.')
      }
    }
  })

  it.each(entries)(
    '%s on a public repository is everybody’s if it only reads',
    async (name, { permission }) => {
      if (typeof permission === 'string' || permission.can !== 'read') return
      for (const actor of ACTORS) {
        const input = await ROWS[name].input({ ...world, ...open }, world.people.member)
        expect((await run(actor, name, input)).told, `${actor} runs ${name}`).toBe('200')
      }
    },
  )

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
    const person = await someoneWhoMay(name)
    for (const text of TOP_LEVEL) expect(await invoked(name, text, person), text.slice(0, 40)).toBe('Invalid')
  })

  it.each(entries)('in a field of %s is Invalid, and never a fault of the hub', async (name, action) => {
    const { shape } = action.input as z.ZodObject
    for (const field of Object.keys(shape)) {
      for (const value of VALUES) {
        const person = await someoneWhoMay(name)
        const input = { ...(await ROWS[name].input(world, person)), [field]: value }
        const isValid = action.input.safeParse(input).success
        const outcome = await invoked(name, JSON.stringify(input), person)
        const what = `${name}.${field} = ${JSON.stringify(value).slice(0, 40)}`
        if (isValid) expect(['ok', 'Forbidden', 'Invalid'], what).toContain(outcome)
        else expect(outcome, what).toBe('Invalid')
        const isBrokenText = typeof value === 'string' && /\0|\p{Cs}/u.test(value)
        // The places where such text is data: any JSON, kept as it was written, and secrets, which are only hashed or verified.
        if (isBrokenText && !/^(value|claims|jwt)$|password|token$/i.test(field))
          expect(outcome, what).toBe('Invalid')
      }
    }
  })

  it.each(entries)('beside the fields of %s changes nothing', async name => {
    const person = await someoneWhoMay(name)
    const input = JSON.stringify(await ROWS[name].input(world, person))
    const more = `"__proto__":{"isAdmin":true},"constructor":null,"toString":[],"\\u0000":"\\ud800"`
    const text = input === '{}' ? `{${more}}` : `{${more},${input.slice(1)}`
    const isForPeople = ROWS[name].may.some(actor => actor in world.people)
    expect(await invoked(name, text, person)).toBe(isForPeople ? 'ok' : 'Forbidden')
  })

  it.each(entries)('nested in something that %s does not know is Invalid over 64 levels', async name => {
    const person = await someoneWhoMay(name)
    const input = (await ROWS[name].input(world, person)) as object
    expect(await invoked(name, JSON.stringify({ ...input, more: nested(64) }), person)).toBe('Invalid')
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

type Someone = Person & { isAdmin: boolean; sessionId: string }

const someoneByKind = new Map<boolean, Someone>()

/**
 * An administrator of the organization, and of the instance where an action asks for that. For actions whose calls are counted
 * somebody new each time, so that no limit stands before what is tested.
 */
async function someoneWhoMay(name: ActionName): Promise<Someone> {
  const { permission, rateLimit, recentSignIn } = actions[name] as Action
  const isAdmin = permission === 'admin'
  const isCounted = rateLimit !== undefined || recentSignIn !== undefined
  const known = isCounted ? undefined : someoneByKind.get(isAdmin)
  if (known) return known
  const person = await anotherPerson(world, world.organizationId, { isAdmin, isOrganizationAdmin: true })
  const sessionId = publicIdOf(await newSession(world.hub, person.userId))
  const someone = { ...person, isAdmin, sessionId }
  someoneByKind.set(isAdmin, someone)
  return someone
}

/** Runs an action in process as somebody who has just signed in; tells the kind of error or `ok`. */
async function invoked(name: ActionName, text: string, someone: Someone): Promise<string> {
  const caller: Caller = { actor: 'User', ...someone, signedInAt: new Date() }
  return world.hub.pipeline.invoke(caller, name, text, 'junk').then(
    () => 'ok',
    error => (error instanceof ActionError ? error.kind : `not an ActionError: ${String(error)}`),
  )
}

type Outcome = { told: string; text: string }

let calls = 0

/** Runs an action as an actor does: over HTTP from a new address each time, over the link, or in process. */
async function run(actor: ActorName, name: ActionName, input: unknown): Promise<Outcome> {
  const { hub, devices } = world
  if (actor === 'clusterNode') {
    const node: Caller = { actor: 'ClusterNode', nodeId: hub.nodeId }
    return hub.pipeline.invoke(node, name, JSON.stringify(input), 'node').then(
      text => ({ told: '200', text }),
      ({ status, kind, message }: ActionError) => ({ told: `${status} ${kind}`, text: message }),
    )
  }
  if (actor === 'ownDevice' || actor === 'siblingDevice' || actor === 'foreignDevice') {
    return devices[actor].invoke(name, input).then(
      output => ({ told: '200', text: JSON.stringify(output) }),
      // Over the link there is no status; the words are the same.
      (error: { kind: string; message: string }) => ({ told: `403 ${error.kind}`, text: error.message }),
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
  return { told: status === 200 ? '200' : `${status} ${json<{ kind: string }>().kind}`, text }
}

/** How an actor without a link proves who they are. */
async function credentialsOf(
  actor: Exclude<ActorName, `${string}Device` | 'clusterNode'>,
): Promise<Record<string, string>> {
  const { hub, people } = world
  switch (actor) {
    case 'nobody':
      return {}
    case 'expiredSession':
      return { cookie: `muster=${expiredToken}` }
    case 'endedSession':
      return { cookie: `muster=${endedToken}` }
    case 'revokedToken':
      return { authorization: `Bearer ${revokedToken}` }
    case 'userToken':
      return { authorization: `Bearer ${memberToken}` }
    default:
      // A session of its own for each call: setting a password ends the others.
      return { cookie: `muster=${await newSession(hub, people[actor].userId)}` }
  }
}

/** Everything of an answer that two answers must share; the id that was asked for does not count. */
function comparable({ status, headers, json }: Awaited<ReturnType<typeof ask>>, id = ''): unknown {
  const { requestId, ...body } = json()
  if (status !== 200) expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
  const told = [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  return { status, headers: told, body: JSON.stringify(body).replaceAll(id || '\0', 'the id') }
}

function prefixOf(id: string): string {
  return id.slice(0, id.lastIndexOf('_'))
}

/** An id that nothing has; those that are the public part of a secret are made from one. */
function missingId(prefix: string): string {
  const secret = { deployment_id: 'deployment', u_pk: 'u_sk', u_session_pk: 'u_session_sk' }[prefix]
  return secret === undefined ? newId(prefix as 'd') : publicIdOf(newId(secret as 'u_sk'))
}

type IdField = { field: string; prefix: string; isList: boolean }

/** Fields of an input that hold an id or a list of ids, each with the prefix of the id. */
function idFieldsOf(input: z.ZodType): IdField[] {
  type Schema = { pattern?: string; items?: Schema; anyOf?: Schema[]; properties?: Record<string, Schema> }
  const { properties = {} } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Schema
  return Object.entries(properties).flatMap(([field, schema]) =>
    [schema, ...(schema.anyOf ?? [])].flatMap(({ pattern, items }) => {
      const prefix = /^\^([a-z_]+)_\[/.exec(pattern ?? items?.pattern ?? '')?.[1]
      // A fingerprint is no id: it counts within its project only, so there is none that is foreign.
      return prefix === undefined || prefix === 'd_sk' ? [] : [{ field, prefix, isList: items !== undefined }]
    }),
  )
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

function newFingerprint(): string {
  return `d_sk_${randomBase58(44)}`
}

function newDigest(): string {
  return `sha256_${randomBytes(32).toString('hex')}`
}

/** A name for a path that nothing has. */
function newName(): string {
  return randomBase58(12)
}

function newEmail(): string {
  return `${newId('u')}@test.example`
}

/** An account of somebody who cannot sign in, and their membership when an organization is named. */
async function anotherPerson(
  { hub }: World,
  organizationId?: string,
  { isAdmin = false, isOrganizationAdmin = false } = {},
): Promise<Person> {
  const userId = newId('u')
  const email = newEmail()
  await hub.db.insertInto('user').values({ user_id: userId, email, is_admin: isAdmin }).execute()
  if (organizationId !== undefined) {
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: userId, is_admin: isOrganizationAdmin })
      .execute()
  }
  return { userId, email }
}

/** An organization with the world's administrator and somebody who has the role there that they have in the world's. */
async function anotherOrganization(
  { hub, people, organizationId: like }: World,
  person?: Person,
): Promise<string> {
  const organizationId = newId('org')
  await hub.pool.query(`insert into organization (organization_id, name) values ($1, 'Other')`, [
    organizationId,
  ])
  await hub.pool.query(
    `insert into organization_member (organization_id, user_id, is_admin)
     select $1, user_id, is_admin from organization_member where organization_id = $2 and user_id = any ($3)`,
    [organizationId, like, [people.organizationAdmin.userId, person?.userId]],
  )
  return organizationId
}

async function anotherInvitation({ hub }: World, organizationId: string, email: string): Promise<string> {
  const invitationId = newId('org_invite')
  await hub.db
    .insertInto('organization_invitation')
    .values({ invitation_id: invitationId, organization_id: organizationId, email })
    .execute()
  return invitationId
}

async function newRepository(
  hub: TestHub,
  organizationId: string,
  visibility: 'Public' | 'Private' = 'Private',
): Promise<string> {
  const repositoryId = newId('repo')
  await hub.db
    .insertInto('repository')
    .values({
      repository_id: repositoryId,
      organization_id: organizationId,
      display_name: 'Firmware',
      visibility,
    })
    .execute()
  return repositoryId
}

async function newPackage(hub: TestHub, repositoryId: string): Promise<string> {
  const packageId = newId('pkg')
  await hub.db
    .insertInto('package')
    .values({ package_id: packageId, repository_id: repositoryId, name: newName() })
    .execute()
  return packageId
}

async function newVersion(hub: TestHub, packageId: string): Promise<string> {
  const versionId = newId('pkg_v')
  await hub.db
    .insertInto('package_version')
    .values({ version_id: versionId, package_id: packageId })
    .execute()
  return versionId
}

async function newVersionFile({ hub, versionId, assetId }: World): Promise<string> {
  const filename = newName()
  await hub.db
    .insertInto('version_asset')
    .values({ version_id: versionId, asset_id: assetId, filename })
    .execute()
  return filename
}

async function newPackageFile({ hub, packageId, assetId }: World): Promise<string> {
  const filename = newName()
  await hub.db
    .insertInto('package_asset')
    .values({ package_id: packageId, asset_id: assetId, filename })
    .execute()
  return filename
}

async function filledRepository(
  hub: TestHub,
  organizationId: string,
  visibility: 'Public' | 'Private' = 'Private',
): Promise<RepositoryIds> {
  const repositoryId = await newRepository(hub, organizationId, visibility)
  const packageId = await newPackage(hub, repositoryId)
  const versionId = await newVersion(hub, packageId)
  return { repositoryId, packageId, versionId, assetId: await assetRow(hub, repositoryId) }
}

async function linkRepository({ hub, projectId }: World, repositoryId: string): Promise<void> {
  await hub.db
    .insertInto('project_repository')
    .values({ project_id: projectId, repository_id: repositoryId })
    .execute()
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

async function anotherCertificate({ hub, ...world }: World, deviceId = world.deviceId): Promise<string> {
  const certificateId = newId('d_c')
  await hub.db
    .insertInto('device_certificate')
    .values({
      certificate_id: certificateId,
      device_id: deviceId,
      fingerprint: randomFingerprint(),
      status: 'Pending',
    })
    .execute()
  return certificateId
}

/** Secret of a new session, a day long unless told otherwise. */
async function newSession(
  hub: TestHub,
  userId: string,
  expiresAt = new Date(Date.now() + 24 * 60 * 60 * 1000),
): Promise<string> {
  const token = newId('u_session_sk')
  await hub.db
    .insertInto('session')
    .values({
      session_id: publicIdOf(token),
      token_hash: hashSecret(token),
      user_id: userId,
      user_agent: 'test',
      expires_at: expiresAt,
    })
    .execute()
  return token
}

/** Secret of a session that was good until its person signed out. */
async function endedSession(hub: TestHub, { userId }: TestUser): Promise<string> {
  const token = await newSession(hub, userId)
  const headers = { cookie: `muster=${token}`, origin: hub.url }
  const before = await ask(hub, '/api/v1/actions/invoke/actor_GetActor', { body: {}, headers })
  expect(before.json()).toMatchObject({ actor: { actor: 'User', userId } })
  await ask(hub, '/api/private/logout', { method: 'POST', headers })
  return token
}
