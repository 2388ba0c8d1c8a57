import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ActionOutput, createClient, type Invoke, newId, publicIdOf } from '@muster/actions'
import { createHub, type Hub, type JobData, type JobName } from '@muster/hub'
import { type Config, loadConfig } from '@muster/hub/config'
import { createLog, type Logger } from '@muster/hub/log'
import { hashOnce } from '@muster/hub/passwords'
import { hashSecret } from '@muster/hub/secrets'
import { mailsIn, type ReceivedMail } from './mail.ts'
import { makeDatabase } from './scratch-database.ts'
import { shareFiles } from './share-files.ts'
import { until } from './until.ts'

const PASSWORD = 'correct horse battery'

export type TestUser = { userId: string; email: string; password: string; invoke: Invoke; cookie: string }

export type TestHub = Hub & {
  /** Origin of the hub's listener. Tests connect here even if the public URL differs. */
  url: string
  dataDir: string
  /** Waits for `count` mails to an address in the outbox, and returns them, oldest first. */
  mailsTo(address: string, count?: number): Promise<ReceivedMail[]>
  /** Queues a job and waits until it has ended, successfully or not. */
  runJob<N extends JobName>(job: N, data: JobData[N]): Promise<ActionOutput<'jobs_Query'>['jobs'][number]>
  /** Runs actions without credentials. */
  anonymous: Invoke
  /** Returns a function that runs actions with a bearer token. */
  withToken(token: string): Invoke
  /** Creates an account and a session for it. */
  user(options?: { isAdmin?: boolean; displayName?: string }): Promise<TestUser>
  /** Creates a user token of an account. */
  userToken(user: Pick<TestUser, 'userId'>): Promise<string>
  /** Creates an organization that `admin` administers. */
  organization(admin: TestUser, members?: TestUser[]): Promise<string>
  /** Creates a project. */
  project(owner: TestUser, organizationId: string, name?: string): Promise<string>
  /** Creates a deployment token. */
  token(owner: TestUser, projectId: string, autoAccept?: boolean): Promise<{ tokenId: string; token: string }>
  /** Creates a repository, private by default, with a random slug. */
  repository(
    owner: TestUser,
    organizationId: string,
    options?: { name?: string; visibility?: 'Public' | 'Private' },
  ): Promise<string>
  /** Creates a package. */
  package(owner: TestUser, repositoryId: string, name?: string): Promise<string>
  /** Creates a version of a package, with unlocked tags. */
  version(owner: TestUser, packageId: string, ...tags: string[]): Promise<string>
  /** Creates a person, an organization, a project and a deployment token with automatic acceptance. Most tests start with it. */
  fleet(): Promise<{
    owner: TestUser
    organizationId: string
    projectId: string
    tokenId: string
    token: string
  }>
}

/** Data folder of the first running hub on each database. Further hubs on a database share its folder of files. */
const dataDirs = new Map<string, string>()

/** Starts a real hub with its own database on a free port. It is stopped on disposal. */
export async function testHub(
  settings: Partial<Config> = {},
  log: Logger = createLog('silent'),
): Promise<TestHub> {
  const database = await makeDatabase('muster')
  const databaseUrl = settings.databaseUrl ?? database.url
  const ownDir = settings.dataDir === undefined ? await mkdtemp(join(tmpdir(), 'muster-hub-')) : undefined
  const dataDir = ownDir ?? settings.dataDir!
  const first = dataDirs.get(databaseUrl)
  if (first === undefined) dataDirs.set(databaseUrl, dataDir)
  else if (ownDir !== undefined) await shareFiles(first, ownDir)
  const hub = await createHub(
    {
      ...loadConfig({ MUSTER_PORT: '0', MUSTER_DATA_DIR: dataDir }),
      ...settings,
      databaseUrl: 'databaseUrl' in settings ? settings.databaseUrl : databaseUrl,
    },
    log,
  )
  const url = `${settings.tls ? 'https' : 'http'}://127.0.0.1:${hub.address.port}`
  // With an HTTPS public URL the hub accepts writes only from HTTPS origins, even behind a proxy that terminates TLS.
  const origin = hub.publicUrl.startsWith('https:') ? url.replace('http:', 'https:') : url
  const client = (headers: Record<string, string>): Invoke => createClient({ baseUrl: url, headers })

  const user: TestHub['user'] = async ({ isAdmin = false, displayName } = {}) => {
    const userId = newId('u')
    const email = `${userId}@test.example`
    const hash = await passwordHash()
    await hub.db
      .insertInto('user')
      .values({
        user_id: userId,
        email,
        password_hash: hash,
        is_admin: isAdmin,
        display_name: displayName ?? null,
      })
      .execute()
    // Opens a session without a sign-in request, because the hub's password check takes up to a second on a busy machine.
    const session = await hub.sessions.open({ userId, isAdmin, passwordHash: hash }, 'test', false)
    const cookie = `${hub.publicUrl.startsWith('https:') ? '__Host-muster' : 'muster'}=${session!.token}`
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
      if (first === undefined) dataDirs.delete(databaseUrl)
      await database.drop()
      if (ownDir !== undefined) await rm(ownDir, { recursive: true, force: true })
    },
  }
}

let hash: Promise<string> | undefined

/** Returns the hash of the password that all test accounts share. It is computed once. */
function passwordHash(): Promise<string> {
  hash ??= hashOnce(PASSWORD)
  return hash
}
