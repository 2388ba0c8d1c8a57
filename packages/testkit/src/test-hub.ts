import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ActionOutput, createClient, type Invoke, newId, publicIdOf } from '@muster/actions'
import { createHub, type Hub, type JobData, type JobName } from '@muster/hub'
import { type Config, loadConfig } from '@muster/hub/config'
import { createLog, type Logger } from '@muster/hub/log'
import { hashPassword } from '@muster/hub/passwords'
import { hashSecret } from '@muster/hub/secrets'
import { mailsIn, type ReceivedMail } from './mail.ts'
import { signIn } from './people.ts'
import { makeDatabase } from './scratch-database.ts'
import { until } from './until.ts'

const PASSWORD = 'correct horse battery'

export type TestUser = { userId: string; email: string; password: string; invoke: Invoke; cookie: string }

export type TestHub = Hub & {
  /** Where the hub listens, for sockets. */
  url: string
  dataDir: string
  /** Mails to an address that are in the outbox, oldest first, once there are so many. */
  mailsTo(address: string, count?: number): Promise<ReceivedMail[]>
  /** Queues a job and waits until it has ended, however that is. */
  runJob<N extends JobName>(job: N, data: JobData[N]): Promise<ActionOutput<'jobs_Query'>['jobs'][number]>
  /** Actions without credentials. */
  anonymous: Invoke
  /** Actions with a bearer token. */
  withToken(token: string): Invoke
  /** A new account, signed in. */
  user(options?: { isAdmin?: boolean; displayName?: string }): Promise<TestUser>
  /** A user token of an account. */
  userToken(user: TestUser): Promise<string>
  /** A new organization with its administrator. */
  organization(admin: TestUser, members?: TestUser[]): Promise<string>
  /** A new project. */
  project(owner: TestUser, organizationId: string, name?: string): Promise<string>
  /** A new deployment token. */
  token(owner: TestUser, projectId: string, autoAccept?: boolean): Promise<{ tokenId: string; token: string }>
  /** A new repository, private unless told otherwise; its path handle is random. */
  repository(
    owner: TestUser,
    organizationId: string,
    options?: { name?: string; visibility?: 'Public' | 'Private' },
  ): Promise<string>
  /** A new package. */
  package(owner: TestUser, repositoryId: string, name?: string): Promise<string>
  /** A new version of a package, with tags that are not locked. */
  version(owner: TestUser, packageId: string, ...tags: string[]): Promise<string>
  /** Person, organization, project and an accepting token: what most tests start from. */
  fleet(): Promise<{
    owner: TestUser
    organizationId: string
    projectId: string
    tokenId: string
    token: string
  }>
}

/** A real hub on a database of its own, listening on a free port; ends with its scope. */
export async function testHub(
  settings: Partial<Config> = {},
  log: Logger = createLog('silent'),
): Promise<TestHub> {
  const database = await makeDatabase('muster')
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-hub-'))
  const hub = await createHub(
    {
      ...loadConfig({ MUSTER_PORT: '0', MUSTER_DATA_DIR: dataDir }),
      databaseUrl: database.url,
      ...settings,
    },
    log,
  )
  const url = `${settings.tls ? 'https' : 'http'}://127.0.0.1:${hub.address.port}`
  // Under HTTPS the hub takes writes from HTTPS pages only, whoever ends the TLS in front of it.
  const origin = hub.publicUrl.startsWith('https:') ? url.replace('http:', 'https:') : url
  const client = (headers: Record<string, string>): Invoke => createClient({ baseUrl: url, headers })

  const user: TestHub['user'] = async ({ isAdmin = false, displayName } = {}) => {
    const userId = newId('u')
    const email = `${userId}@test.example`
    await hub.db
      .insertInto('user')
      .values({
        user_id: userId,
        email,
        password_hash: await passwordHash(),
        is_admin: isAdmin,
        display_name: displayName ?? null,
      })
      .execute()
    const { status, headers } = await signIn({ url }, email, PASSWORD)
    if (status !== 200) throw new Error(`sign-in failed with ${status}`)
    const cookie = headers.get('set-cookie')!.split(';')[0]!
    return { userId, email, password: PASSWORD, cookie, invoke: client({ cookie, origin }) }
  }
  const organization: TestHub['organization'] = async (admin, members = []) => {
    const { organizationId } = await admin.invoke('organizations_Create', { name: 'Test organization' })
    for (const { userId } of members) {
      await hub.db
        .insertInto('organization_member')
        .values({ organization_id: organizationId, user_id: userId })
        .execute()
    }
    return organizationId
  }
  const project: TestHub['project'] = async (owner, organizationId, name = 'Test project') =>
    (await owner.invoke('projects_Create', { organizationId, name })).projectId
  const token: TestHub['token'] = (owner, projectId, autoAccept = true) =>
    owner.invoke('projects_CreateDeploymentToken', { projectId, name: 'Test token', flags: { autoAccept } })
  const repository: TestHub['repository'] = async (owner, organizationId, options = {}) => {
    const { name = `repository-${randomUUID()}`, visibility } = options
    const made = await owner.invoke('repositories_Create', { organizationId, name, visibility })
    if (made.result !== 'Created') throw new Error(`the name ${name} is taken`)
    return made.repositoryId
  }
  const packageIn: TestHub['package'] = async (owner, repositoryId, name = 'firmware') => {
    const made = await owner.invoke('repositories_CreatePackage', { repositoryId, name })
    if (made.result !== 'Created') throw new Error(`the name ${name} is taken`)
    return made.packageId
  }
  const version: TestHub['version'] = async (owner, packageId, ...tags) =>
    (await owner.invoke('repositories_CreateVersion', { packageId, tags: tags.map(tag => ({ tag })) }))
      .versionId

  return {
    ...hub,
    url,
    dataDir,
    mailsTo: (address, count = 1) =>
      until(`${count} mails to ${address}`, async () => {
        const mails = (await mailsIn(dataDir)).filter(({ to }) => to.includes(address))
        return mails.length >= count && mails
      }),
    async runJob(job, data) {
      const jobId = await hub.db.transaction().execute(tx => hub.jobs.enqueue(tx, job, data))
      hub.jobs.wake(job)
      return until(`${job} ends`, async () => {
        const { jobs } = await hub.pipeline.run({ actor: 'System' }, 'jobs_Query', { filter: { job } })
        return jobs.find(one => one.jobId === jobId && one.status !== 'Pending')
      })
    },
    anonymous: client({}),
    withToken: bearer => client({ authorization: `Bearer ${bearer}` }),
    user,
    organization,
    project,
    token,
    repository,
    package: packageIn,
    version,
    async userToken({ userId }) {
      const secret = newId('u_sk')
      await hub.db
        .insertInto('user_token')
        .values({
          token_id: publicIdOf(secret),
          token_hash: hashSecret(secret),
          user_id: userId,
          name: 'test',
        })
        .execute()
      return secret
    },
    async fleet() {
      const owner = await user()
      const organizationId = await organization(owner)
      const projectId = await project(owner, organizationId)
      return { owner, organizationId, projectId, ...(await token(owner, projectId)) }
    },
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

let hash: Promise<string> | undefined

/** Test accounts share a password, so it is hashed once. */
function passwordHash(): Promise<string> {
  hash ??= hashPassword(PASSWORD)
  return hash
}
