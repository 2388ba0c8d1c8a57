import {
  type Action,
  type ActionInput,
  type ActionName,
  type Actions,
  actions,
  newId,
  publicIdOf,
  randomBase58,
} from '@muster/actions'
import {
  type AskOptions,
  ask,
  assetRow,
  capturedLog,
  deviceRow,
  type FakeS3,
  fakeS3,
  mailedJwt,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** What leaves an audit row when a person runs it. */
type Audited = {
  [N in ActionName]: Actions[N]['kind'] extends 'query' ? never : N
}[ActionName]

/** Written in every field for a secret; none of them may be found anywhere afterwards. */
const PLANTED = 'planted-secret'
let planted = 0
const secret = (): string => `${PLANTED}-${planted++}-${newId('u')}`

const captured = capturedLog()
let hub: TestHub
let root: TestUser
let organizationId: string
let projectId: string
let store: FakeS3
/** Secrets that the hub made itself. */
const made: string[] = []
/** Secrets in mails; without a mail server the log tells their links, which is what it is for then. */
const mailed: string[] = []

beforeAll(async () => {
  hub = await testHub({ outboundAllow: ['127.0.0.0/8'] }, captured.log)
  store = await fakeS3({ secretAccessKey: secret() })
  root = await hub.user({ isAdmin: true })
  organizationId = await hub.organization(root)
  projectId = await hub.project(root, organizationId)
})
afterAll(async () => {
  await store[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

const newEmail = (): string => `${newId('u')}@test.example`
const person = async (): Promise<string> => (await hub.user()).userId
const member = async (): Promise<string> => {
  const userId = await person()
  await root.invoke('organizations_AddMember', { organizationId, userId })
  return userId
}
const device = (): Promise<string> => deviceRow(hub, projectId)
const certificate = async (): Promise<string> => {
  const fingerprint = randomFingerprint()
  return (await root.invoke('devices_AddCertificate', { deviceId: await device(), fingerprint }))
    .certificateId
}
const repository = (): Promise<string> => hub.repository(root, organizationId)
const packageId = async (): Promise<string> => hub.package(root, await repository())
const version = async (): Promise<string> => hub.version(root, await packageId(), 'stable')
const asset = async (): Promise<string> => assetRow(hub, await repository())

async function registered(): Promise<string> {
  const email = newEmail()
  await hub.anonymous('users_Register', { email, password: secret(), consentedToTerms: true })
  return email
}

/** An input of each with which an administrator of instance and organization succeeds, made anew for each call. */
const INPUTS: { [N in Audited]: () => ActionInput<N> | Promise<ActionInput<N>> } = {
  users_Create: () => ({ email: newEmail(), password: secret() }),
  users_Delete: async () => ({ userId: await person() }),
  users_SetIsAdmin: async () => ({ userId: await person(), isAdmin: true }),
  users_SetDisplayName: async () => ({ userId: await person(), displayName: 'Grace' }),
  users_SetPassword: async () => ({ userId: await person(), password: secret() }),
  users_ChangePassword: () => ({
    userId: root.userId,
    currentPassword: secret(),
    newPassword: secret(),
  }),
  users_ResetPassword: () => ({ email: newEmail() }),
  users_CompletePasswordReset: async () => {
    const { email } = await hub.user()
    await hub.anonymous('users_ResetPassword', { email })
    const resetToken = await mailedJwt(hub, 'PasswordReset', email)
    mailed.push(resetToken)
    return { resetToken, password: secret() }
  },
  users_Register: () => ({ email: newEmail(), password: secret(), consentedToTerms: true as const }),
  users_ResendRegistrationEmail: async () => ({ email: await registered() }),
  users_CompleteRegistration: async () => {
    const activationToken = await mailedJwt(hub, 'Activation', await registered())
    mailed.push(activationToken)
    return { activationToken }
  },
  users_AcceptOrganizationInvitation: async () => {
    const other = await hub.organization(await hub.user())
    const invitationId = newId('org_invite')
    await hub.db
      .insertInto('organization_invitation')
      .values({ invitation_id: invitationId, organization_id: other, email: root.email })
      .execute()
    return { invitationId }
  },
  users_TerminateSession: async () => {
    const other = await ask(hub, '/api/private/login', {
      body: { email: root.email, password: root.password },
    })
    const session = /=(u_session_sk_\w+)/.exec(other.headers.get('set-cookie')!)![1]!
    made.push(session)
    return { sessionId: publicIdOf(session) }
  },
  users_CreateToken: () => ({ userId: root.userId, name: 'token' }),
  users_DeleteToken: async () => {
    const token = await hub.userToken(root)
    made.push(token)
    return { tokenId: publicIdOf(token) }
  },
  organizations_Create: () => ({ name: 'Another' }),
  organizations_Delete: async () => ({ organizationId: await hub.organization(root) }),
  organizations_SetName: () => ({ organizationId, name: 'Renamed' }),
  organizations_AddMember: async () => ({ organizationId, userId: await person() }),
  organizations_SetMemberIsAdmin: async () => ({ organizationId, userId: await member(), isAdmin: true }),
  organizations_RemoveMember: async () => ({ organizationId, userId: await member() }),
  organizations_InviteMember: () => ({ organizationId, email: newEmail() }),
  organizations_DeleteInvitation: () =>
    root.invoke('organizations_InviteMember', { organizationId, email: newEmail() }),
  projects_Create: () => ({ organizationId, name: 'Another' }),
  projects_SetName: () => ({ projectId, name: 'Renamed' }),
  projects_Delete: async () => ({ projectId: await hub.project(root, organizationId) }),
  projects_CreateDeploymentToken: () => ({ projectId, name: 'token' }),
  projects_DeleteDeploymentToken: async () => ({ tokenId: (await hub.token(root, projectId)).tokenId }),
  projects_SetDeploymentTokenFlags: async () => ({
    tokenId: (await hub.token(root, projectId)).tokenId,
    flags: { autoAccept: true },
  }),
  projects_LinkRepository: async () => ({ projectId, repositoryId: await repository() }),
  projects_UnlinkRepository: async () => {
    const linked = { projectId, repositoryId: await repository() }
    await root.invoke('projects_LinkRepository', linked)
    return linked
  },
  repositories_Create: () => ({ organizationId, name: 'firmware', visibility: 'Public' as const }),
  repositories_Delete: async () => ({ repositoryId: await repository() }),
  repositories_SetVisibility: async () => ({ repositoryId: await repository(), visibility: 'Public' }),
  repositories_SetDisplayName: async () => ({ repositoryId: await repository(), displayName: 'Firmware' }),
  repositories_SetSlug: async () => ({ repositoryId: await repository(), slug: 'handle' }),
  repositories_SetOrganization: async () => ({
    repositoryId: await repository(),
    organizationId: await hub.organization(root),
  }),
  repositories_SetS3Config: async () => ({
    repositoryId: await repository(),
    s3Endpoint: store.endpoint,
    s3Bucket: store.bucket,
    s3AccessKeyId: store.accessKeyId,
    s3SecretAccessKey: store.secretAccessKey,
  }),
  repositories_CreatePackage: async () => ({
    repositoryId: await repository(),
    name: 'image',
    kind: 'app',
    metadata: { a: 1 },
  }),
  repositories_DeletePackage: async () => ({ packageId: await packageId() }),
  repositories_SetPackageName: async () => ({ packageId: await packageId(), name: 'renamed' }),
  repositories_SetPackageKind: async () => ({ packageId: await packageId(), kind: 'app' }),
  repositories_SetPackageMetadata: async () => ({ packageId: await packageId(), metadata: {} }),
  repositories_AddPackageAsset: async () => {
    const repositoryId = await repository()
    const assetId = await assetRow(hub, repositoryId)
    return { packageId: await hub.package(root, repositoryId), assetId, filename: 'file' }
  },
  repositories_RemovePackageAsset: async () => {
    const added = await INPUTS.repositories_AddPackageAsset()
    await root.invoke('repositories_AddPackageAsset', added)
    return { packageId: added.packageId, filename: added.filename }
  },
  repositories_SetPackageAssetMetadata: async () => ({
    ...(await INPUTS.repositories_RemovePackageAsset()),
    metadata: { a: 1 },
  }),
  repositories_CreateVersion: async () => ({
    packageId: await packageId(),
    name: 'Summer',
    tags: [{ tag: 'v1', locked: true }],
  }),
  repositories_DeleteVersion: async () => ({ versionId: await version() }),
  repositories_SetVersionName: async () => ({ versionId: await version(), name: 'Summer' }),
  repositories_SetVersionMetadata: async () => ({ versionId: await version(), metadata: {} }),
  repositories_TagVersion: async () => ({ versionId: await version(), tags: [{ tag: 'v1' }] }),
  repositories_UntagVersion: async () => ({ versionId: await version(), tags: [{ tag: 'stable' }] }),
  repositories_AddVersionAsset: async () => {
    const repositoryId = await repository()
    const assetId = await assetRow(hub, repositoryId)
    const versionId = await hub.version(root, await hub.package(root, repositoryId))
    return { versionId, assetId, filename: 'file' }
  },
  repositories_RemoveVersionAsset: async () => {
    const added = await INPUTS.repositories_AddVersionAsset()
    await root.invoke('repositories_AddVersionAsset', added)
    return { versionId: added.versionId, filename: added.filename }
  },
  repositories_SetVersionAssetMetadata: async () => ({
    ...(await INPUTS.repositories_RemoveVersionAsset()),
    metadata: { a: 1 },
  }),
  repositories_CreateAsset: async () => ({
    repositoryId: await repository(),
    size: 7,
    digest: `sha256_${'0'.repeat(64)}`,
  }),
  repositories_DeleteAsset: async () => ({ assetId: await asset() }),
  repositories_IssueAssetUploadUrl: async () => ({ assetId: await asset() }),
  repositories_FinalizeAssetUpload: async () => ({ assetId: await asset() }),
  repositories_IssueAssetDownloadUrl: async () => ({ assetId: await asset(), filename: 'image.bin' }),
  devices_SetName: async () => ({ deviceId: await device(), name: 'crane' }),
  devices_Delete: async () => ({ deviceId: await device() }),
  devices_AddCertificate: async () => ({ deviceId: await device(), fingerprint: randomFingerprint() }),
  devices_SetCertificateStatus: async () => ({ certificateId: await certificate(), status: 'Active' }),
  devices_DeleteCertificate: async () => ({ certificateId: await certificate() }),
  devices_SetProperty: async () => ({ deviceId: await device(), name: 'a', value: secret() }),
  devices_RemoveProperty: async () => ({ deviceId: await device(), name: 'a' }),
  devices_PublishEvents: async () => ({ deviceId: await device(), events: [] }),
  devices_Create: () => ({ projectId, fingerprint: `d_sk_${randomBase58(44)}` }),
  devices_IssueDeviceToken: async () => ({ deviceId: await device(), claims: { pin: secret() } }),
  devices_IssueHttpProxyToken: async () => ({ deviceId: await device(), port: 8080 }),
}

const names = Object.keys(INPUTS) as Audited[]

type Row = { action: string; status: string; actor: { actor: string }; data: object }

/** Runs an action over HTTP and finds the audit rows that the request left. */
async function audited(
  name: Audited,
  body: unknown,
  options: AskOptions,
): Promise<{ status: number; text: string; rows: Row[] }> {
  const answer = await ask(hub, `/api/v1/actions/invoke/${name}`, { body, ...options })
  const rows = await hub.db
    .selectFrom('audit_action')
    .where('request_id', '=', answer.headers.get('x-request-id')!)
    .select(['action', 'status', 'actor', 'data'])
    .execute()
  return { status: answer.status, text: answer.text, rows: rows as Row[] }
}

describe('what is tried', () => {
  it.each(names)('%s leaves one audit row, with its outcome and without secrets', async name => {
    const { audit, permission } = actions[name] as Action
    const body = await INPUTS[name]()
    if (permission !== 'anyone') {
      const nobody = await audited(name, body, {})
      expect(nobody.status).toBe(401)
      expect(nobody.rows).toMatchObject([{ action: name, status: 'Rejected', actor: { actor: 'Anonymous' } }])
    }
    if (permission !== 'anyone' && permission !== 'user') {
      const stranger = await audited(name, body, { as: await hub.user() })
      expect(stranger.status).toBe(403)
      expect(stranger.rows).toMatchObject([{ action: name, status: 'Rejected', actor: { actor: 'User' } }])
    }
    const done = await audited(name, body, permission === 'anyone' ? {} : { as: root })
    expect(done.status, done.text).toBe(200)
    expect(done.rows).toMatchObject([{ action: name, status: 'Succeeded' }])
    const kept = Object.fromEntries(Object.entries(body).filter(([key]) => audit.includes(key)))
    expect(done.rows[0]!.data).toEqual(kept)
    const token = /"(?:token|jwt)":"([\w.-]+)"/.exec(done.text)?.[1]
    if (token) made.push(token)
  })

  it('and fails has a row that says so, and no event', async () => {
    const alone = await hub.user()
    const own = await hub.organization(alone)
    const before = await events()
    const body = { organizationId: own, userId: alone.userId, isAdmin: false }
    const failed = await audited('organizations_SetMemberIsAdmin', body, { as: alone })
    expect(failed.rows).toMatchObject([{ status: 'Failed', data: body }])
    expect(await events()).toBe(before)
  })

  it('with a wrong password in place of a recent sign-in is Rejected and keeps no word of it', async () => {
    const body = { userId: root.userId, name: 'x', currentPassword: secret() }
    const { rows, status } = await audited('users_CreateToken', body, { token: await hub.userToken(root) })
    expect(status).toBe(403)
    expect(rows).toMatchObject([{ status: 'Rejected', data: { userId: root.userId, name: 'x' } }])
  })

  it('and cannot be understood leaves none', async () => {
    expect((await audited('projects_SetName', { projectId }, { as: root })).rows).toEqual([])
  })
})

describe('secrets', () => {
  it('are in no audit row, no job and no line of the log', async () => {
    made.push(await hub.userToken(root), root.cookie.split('=')[1]!)
    await until('all mails are sent', async () => {
      const { rows } = await sql<{ open: number }>`
        select count(*)::int as open from pgboss.job where state < 'completed' and name like '%Email'`.execute(
        hub.db,
      )
      return rows[0]!.open === 0
    })
    const { rows } = await sql<{ text: string }>`
      select row_to_json(a)::text as text from audit_action a
      union all select row_to_json(e)::text from audit_event e
      union all select row_to_json(j)::text from pgboss.job j`.execute(hub.db)
    const stored = rows.map(row => row.text).join('\n')
    const kept = `${stored}\n${captured.lines.map(line => JSON.stringify(line)).join('\n')}`
    expect(planted).toBeGreaterThan(9)
    expect(made.length).toBeGreaterThan(4)
    expect(mailed).toHaveLength(2)
    expect(kept).toContain('"users_SetPassword"')
    expect(kept).not.toContain(PLANTED)
    for (const one of made) expect(kept.includes(one), one).toBe(false)
    for (const one of mailed) expect(stored.includes(one), one).toBe(false)
    expect(kept).not.toMatch(/\b(u_sk|u_session_sk|deployment|d_sk)_[1-9A-HJ-NP-Za-km-z]{44}/)
    expect(kept).not.toContain('$argon2')
  })
})

async function events(): Promise<number> {
  const { count } = await hub.db
    .selectFrom('audit_event')
    .where('event', 'like', 'organizations_Member%')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}
