import { type ActionInput, type ActionOutput, newId } from '@muster/actions'
import {
  assetRow,
  auditRows,
  connectDevice,
  type FakeDevice,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '../../platform/pipeline/caller.ts'

/** Runs an action as a certain caller: people over HTTP, devices over their WebSocket link. */
type Reader = (name: string, input: object) => Promise<unknown>

let hub: TestHub
let owner: TestUser
let otherTenant: TestUser
let administrator: TestUser
let organizationId: string
let projectId: string
let linked: FakeDevice
let unlinked: FakeDevice
let readers: Record<
  'member' | 'otherTenant' | 'administrator' | 'anonymous' | 'linkedDevice' | 'unlinkedDevice',
  Reader
>

/** A repository with a package, a version tagged `stable` and a file in a folder. */
type Filled = {
  repositoryId: string
  packageId: string
  versionId: string
  assetId: string
  slug: string
}

async function filled(name: string, visibility: 'Public' | 'Private'): Promise<Filled> {
  const repositoryId = await hub.repository(owner, organizationId, { name, visibility })
  const packageId = await hub.package(owner, repositoryId, 'image')
  const versionId = await hub.version(owner, packageId, 'stable')
  const assetId = await assetRow(hub, repositoryId)
  await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename: 'arm64/disk.img' })
  return { repositoryId, packageId, versionId, assetId, slug: name }
}

let secret: Filled
let open: Filled

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  otherTenant = await hub.user()
  administrator = await hub.user({ isAdmin: true })
  organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  const otherOrganizationId = await hub.organization(otherTenant)
  secret = await filled('secret', 'Private')
  open = await filled('open', 'Public')
  await owner.invoke('projects_LinkRepository', { projectId, repositoryId: secret.repositoryId })
  const { token } = await hub.token(owner, projectId)
  const other = await hub.token(owner, await hub.project(owner, organizationId))
  await hub.token(otherTenant, await hub.project(otherTenant, otherOrganizationId))
  linked = await connectDevice({ url: hub.url, token })
  unlinked = await connectDevice({ url: hub.url, token: other.token })
  const person =
    (invoke: TestUser['invoke']): Reader =>
    (name, input) =>
      invoke(name as 'devices_SetName', input as never)
  readers = {
    member: person(owner.invoke),
    otherTenant: person(otherTenant.invoke),
    administrator: person(administrator.invoke),
    anonymous: person(hub.anonymous),
    linkedDevice: linked.invoke,
    unlinkedDevice: unlinked.invoke,
  }
})
afterAll(async () => {
  await linked[Symbol.asyncDispose]()
  await unlinked[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

const READERS = [
  'member',
  'otherTenant',
  'administrator',
  'anonymous',
  'linkedDevice',
  'unlinkedDevice',
] as const

/** Every action that reads by id, with an input for this repository. */
const reads = ({ repositoryId, packageId, versionId }: Filled): [string, object][] => [
  ['repositories_GetDetails', { repositoryId }],
  ['repositories_QueryPackages', { repositoryId }],
  ['repositories_QueryAssets', { repositoryId }],
  ['repositories_GetPackageDetails', { packageId }],
  ['repositories_QueryPackageVersions', { packageId }],
  ['repositories_GetVersionDetails', { versionId }],
]

/** Actions that resolve a path, with an input for this repository and the expected ids. */
function paths({ repositoryId, packageId, versionId, assetId, slug }: Filled): [string, object, object][] {
  const full = { repository: slug, package: 'image', tag: 'stable', filename: 'arm64/disk.img' }
  const { filename, ...version } = full
  const { tag, ...inRepository } = version
  return [
    ['repositories_ResolveName', { repository: slug }, { repositoryId }],
    ['repositories_ResolvePackageByPath', inRepository, { repositoryId, packageId }],
    ['repositories_ResolveVersionByPath', version, { repositoryId, packageId, versionId }],
    ['repositories_ResolveVersionAssetByPath', full, { repositoryId, packageId, versionId, assetId }],
  ]
}

/** Input of `repositories_ResolveVersionsByPath`: a version with its files, the same one without them, and no version. */
const severalPaths = ({ slug: repository }: Filled) => ({
  paths: [
    { repository, package: 'image', tag: 'stable', withFiles: true },
    { repository, package: 'image', tag: 'stable' },
    { repository, package: 'image', tag: 'none', withFiles: true },
  ],
})

describe('private repository', () => {
  it.each(['member', 'linkedDevice'] as const)('can be read by a %s, by id and by path', async reader => {
    for (const [name, input] of reads(secret)) expect(await readers[reader](name, input)).toBeDefined()
    for (const [name, input, found] of paths(secret))
      expect(await readers[reader](name, input)).toEqual({ result: 'Found', ...found })
    const { repositoryId, packageId, versionId } = secret
    const version = { result: 'Found', repositoryId, packageId, versionId }
    expect(await readers[reader]('repositories_ResolveVersionsByPath', severalPaths(secret))).toEqual({
      versions: [
        { ...version, files: [expect.objectContaining({ filename: 'arm64/disk.img' })] },
        version,
        { result: 'NotFound' },
      ],
    })
  })

  it.each(['otherTenant', 'anonymous', 'unlinkedDevice'] as const)(
    'is hidden from a %s, by id and by path',
    async reader => {
      for (const [name, input] of reads(secret))
        await expect(readers[reader](name, input), name).rejects.toMatchObject({
          kind: 'Forbidden',
          message: 'You are not permitted to do this.',
        })
      for (const [name, input] of paths(secret))
        expect(await readers[reader](name, input)).toEqual({ result: 'NotFound' })
      const none = { result: 'NotFound' }
      expect(await readers[reader]('repositories_ResolveVersionsByPath', severalPaths(secret))).toEqual({
        versions: [none, none, none],
      })
    },
  )

  it('can be read by an administrator of the instance by id, which is audited, but not by path', async () => {
    const before = (await auditRows(hub)).length
    for (const [name, input] of reads(secret)) await readers.administrator(name, input)
    const rows = (await auditRows(hub)).slice(before)
    expect(rows.map(({ action }) => action)).toEqual(reads(secret).map(([name]) => name))
    for (const [name, input] of paths(secret))
      expect(await readers.administrator(name, input)).toEqual({ result: 'NotFound' })
  })

  it('can be written by members only', async () => {
    const { repositoryId } = secret
    for (const reader of READERS) {
      if (reader === 'member') continue
      const input = { repositoryId, name: 'by-others' }
      await expect(readers[reader]('repositories_CreatePackage', input), reader).rejects.toMatchObject({
        kind: 'Forbidden',
      })
    }
  })
})

describe('public repository', () => {
  it.each(READERS)('can be read by a %s, by id and by path, without an audit row', async reader => {
    const before = (await auditRows(hub)).length
    for (const [name, input] of reads(open)) expect(await readers[reader](name, input), name).toBeDefined()
    for (const [name, input, found] of paths(open))
      expect(await readers[reader](name, input)).toEqual({ result: 'Found', ...found })
    expect(await auditRows(hub)).toHaveLength(before)
  })

  it.each(READERS.slice(1))(
    'denies writes to a %s, and settings, log and links to all but administrators',
    async reader => {
      const { repositoryId, versionId } = open
      const inputs: [string, object][] = [
        ['repositories_SetVisibility', { repositoryId, visibility: 'Private' }],
        ['repositories_TagVersion', { versionId, tags: [{ tag: 'x' }] }],
        ['repositories_CreatePackage', { repositoryId, name: 'by-others' }],
      ]
      if (reader !== 'administrator')
        inputs.push(
          ['repositories_QueryAuditLog', { repositoryId }],
          ['repositories_GetS3Config', { repositoryId }],
          ['repositories_QueryLinkedProjects', { repositoryId }],
          ['repositories_Delete', { repositoryId }],
          ['repositories_DeleteVersion', { versionId }],
        )
      for (const [name, input] of inputs)
        await expect(readers[reader](name, input), name).rejects.toMatchObject({ kind: 'Forbidden' })
    },
  )

  it('is closed to other tenants as soon as it becomes private', async () => {
    const other = await filled('soon-private', 'Public')
    const input = { versionId: other.versionId }
    await readers.otherTenant('repositories_GetVersionDetails', input)
    await owner.invoke('repositories_SetVisibility', {
      repositoryId: other.repositoryId,
      visibility: 'Private',
    })
    for (const reader of ['otherTenant', 'anonymous', 'linkedDevice'] as const)
      await expect(readers[reader]('repositories_GetVersionDetails', input)).rejects.toMatchObject({
        kind: 'Forbidden',
      })
  })
})

describe('path', () => {
  const resolve = (input: ActionInput<'repositories_ResolveVersionAssetByPath'>) =>
    owner.invoke('repositories_ResolveVersionAssetByPath', input)

  it('may have an id in place of each name', async () => {
    const { repositoryId, packageId, versionId, assetId } = secret
    const found = { result: 'Found', repositoryId, packageId, versionId, assetId }
    const names = { repository: 'secret', package: 'image', tag: 'stable', filename: 'arm64/disk.img' }
    const ids = { repository: repositoryId, package: packageId, tag: versionId }
    for (const parts of [ids, { repository: repositoryId }, { package: packageId }, { tag: versionId }])
      expect(await resolve({ ...names, ...parts })).toEqual(found)
  })

  it('leads nowhere if a part does not exist or belongs to another repository', async () => {
    const names = { repository: 'secret', package: 'image', tag: 'stable', filename: 'arm64/disk.img' }
    for (const parts of [
      { repository: 'none' },
      { repository: 'Secret' },
      { repository: newId('repo') },
      { package: 'none' },
      { package: open.packageId },
      { tag: 'none' },
      { tag: 'stabl_' },
      { tag: open.versionId },
      { filename: 'disk.img' },
      { filename: 'arm64' },
      { filename: '../arm64/disk.img' },
      { filename: 'arm64/%' },
    ])
      expect(await resolve({ ...names, ...parts }), JSON.stringify(parts)).toEqual({ result: 'NotFound' })
    const mixed = { ...names, repository: 'open', package: secret.packageId }
    expect(await resolve(mixed)).toEqual({ result: 'NotFound' })
  })

  it.each(['repository', 'package', 'tag', 'filename'])(
    'is Invalid if its part `%s` is malformed',
    async part => {
      const names = { repository: 'secret', package: 'image', tag: 'stable', filename: 'arm64/disk.img' }
      for (const value of ['', 'a\0', '\ud800', 'x'.repeat(2000)])
        await expect(resolve({ ...names, [part]: value })).rejects.toMatchObject({ kind: 'Invalid' })
    },
  )

  it('follows a tag that moves', async () => {
    const path = { repository: 'secret', package: 'image', tag: 'moving' }
    const where = async () =>
      (await linked.invoke(
        'repositories_ResolveVersionByPath',
        path,
      )) as ActionOutput<'repositories_ResolveVersionByPath'>
    expect(await where()).toEqual({ result: 'NotFound' })
    const [one, two] = [
      await hub.version(owner, secret.packageId, 'moving'),
      await hub.version(owner, secret.packageId),
    ]
    expect(await where()).toMatchObject({ versionId: one })
    await owner.invoke('repositories_TagVersion', { versionId: two, tags: [{ tag: 'moving' }] })
    expect(await where()).toMatchObject({ versionId: two })
  })

  it('finds a repository by display name if exactly one that the caller may read has it', async () => {
    const name = 'Werk München'
    const find = (as: TestUser, repository = name) => as.invoke('repositories_ResolveName', { repository })
    const theirs = await hub.organization(otherTenant)
    const made = await otherTenant.invoke('repositories_Create', {
      organizationId: theirs,
      displayName: name,
    })
    // The private repository of the other tenant is not visible to the owner, so it does not match.
    expect(await find(owner)).toEqual({ result: 'NotFound' })
    const repositoryId = await hub.repository(owner, organizationId)
    await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: name })
    expect(await find(owner)).toEqual({ result: 'Found', repositoryId })
    expect(await find(otherTenant)).toMatchObject({
      repositoryId: (made as { repositoryId: string }).repositoryId,
    })
    const second = await hub.repository(owner, organizationId)
    await owner.invoke('repositories_SetDisplayName', { repositoryId: second, displayName: name })
    expect(await find(owner)).toEqual({ result: 'NotFound' })
  })

  it('prefers a slug to a display name, whatever tenants they belong to', async () => {
    const named = await hub.repository(owner, organizationId)
    await owner.invoke('repositories_SetDisplayName', { repositoryId: named, displayName: 'wanted' })
    const find = () => owner.invoke('repositories_ResolveName', { repository: 'wanted' })
    expect(await find()).toEqual({ result: 'Found', repositoryId: named })
    const handled = await hub.repository(owner, organizationId, { name: 'wanted' })
    expect(await find()).toEqual({ result: 'Found', repositoryId: handled })
    // The slug of another tenant takes precedence over display names. So a path resolves to one repository for every caller, or
    // to none.
    await hub.repository(otherTenant, await hub.organization(otherTenant), { name: 'theirs' })
    await owner.invoke('repositories_SetDisplayName', { repositoryId: named, displayName: 'theirs' })
    expect(await owner.invoke('repositories_ResolveName', { repository: 'theirs' })).toEqual({
      result: 'NotFound',
    })
  })

  it('with a display name leads nowhere after another tenant took it as a slug', async () => {
    const repository = 'no-handle-yet'
    const made = await owner.invoke('repositories_Create', { organizationId, displayName: repository })
    const { repositoryId } = made as { repositoryId: string }
    await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
    for (const reader of ['member', 'linkedDevice'] as const)
      expect(await readers[reader]('repositories_ResolveName', { repository })).toMatchObject({
        repositoryId,
      })
    // A public repository of another tenant with the same display name does not affect the look-up.
    const elsewhere = await hub.organization(otherTenant)
    await otherTenant.invoke('repositories_Create', {
      organizationId: elsewhere,
      displayName: repository,
      visibility: 'Public',
    })
    for (const reader of ['member', 'linkedDevice'] as const)
      expect(await readers[reader]('repositories_ResolveName', { repository })).toMatchObject({
        repositoryId,
      })
    const theirs = await hub.repository(otherTenant, elsewhere, {
      name: repository,
      visibility: 'Public',
    })
    for (const reader of ['member', 'linkedDevice'] as const)
      expect(await readers[reader]('repositories_ResolveName', { repository })).toEqual({
        result: 'NotFound',
      })
    for (const reader of ['otherTenant', 'anonymous', 'unlinkedDevice'] as const)
      expect(await readers[reader]('repositories_ResolveName', { repository })).toMatchObject({
        repositoryId: theirs,
      })
  })

  it('is resolved by the hub itself for every repository', async () => {
    for (const { slug, repositoryId } of [secret, open])
      expect(await hub.pipeline.run(SYSTEM, 'repositories_ResolveName', { repository: slug })).toEqual({
        result: 'Found',
        repositoryId,
      })
  })
})

describe('link', () => {
  const link = (as: TestUser, project: string, repositoryId: string) =>
    as.invoke('projects_LinkRepository', { projectId: project, repositoryId })
  const unlink = (as: TestUser, project: string, repositoryId: string) =>
    as.invoke('projects_UnlinkRepository', { projectId: project, repositoryId })
  const linksOf = async (as: TestUser, project: string) =>
    (await as.invoke('projects_QueryLinkedRepositories', { projectId: project })).repositories.map(
      repository => repository.repositoryId,
    )
  const projectsOf = async (as: TestUser, repositoryId: string) =>
    (await as.invoke('repositories_QueryLinkedProjects', { repositoryId })).projects.map(
      project => project.projectId,
    )

  it('may be made twice but exists once, and loses its effect immediately when removed', async () => {
    const { repositoryId } = await filled('linked-twice', 'Private')
    expect(await link(owner, projectId, repositoryId)).toEqual({})
    expect(await link(owner, projectId, repositoryId)).toEqual({})
    expect(await projectsOf(owner, repositoryId)).toEqual([projectId])
    expect(await linked.invoke('repositories_GetDetails', { repositoryId })).toBeDefined()
    expect(await unlink(owner, projectId, repositoryId)).toEqual({})
    await expect(linked.invoke('repositories_GetDetails', { repositoryId })).rejects.toMatchObject({
      kind: 'Forbidden',
    })
    await expect(unlink(owner, projectId, repositoryId)).rejects.toMatchObject({ kind: 'Forbidden' })
    const { events } = await owner.invoke('projects_QueryAuditLog', { projectId })
    expect(events.slice(0, 2).map(({ event, data }) => [event, data])).toEqual([
      ['projects_RepositoryRemoved', { projectId, repositoryId }],
      ['projects_RepositoryAdded', { projectId, repositoryId }],
    ])
  })

  it('to a repository of another tenant is refused like a link to a missing one', async () => {
    const theirs = await hub.project(otherTenant, await hub.organization(otherTenant))
    for (const [as, project, repository] of [
      [otherTenant, theirs, secret.repositoryId],
      [otherTenant, theirs, newId('repo')],
      [otherTenant, projectId, open.repositoryId],
      [administrator, projectId, secret.repositoryId],
    ] as const)
      await expect(link(as, project, repository)).rejects.toMatchObject({
        kind: 'Forbidden',
        status: 403,
        message: 'You are not permitted to do this.',
      })
  })

  it('may cross organizations for a member of both, and lets devices read', async () => {
    const both = await hub.user()
    const elsewhere = await hub.organization(both)
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: both.userId })
      .execute()
    const project = await hub.project(both, elsewhere)
    await link(both, project, secret.repositoryId)
    const { token } = await hub.token(both, project)
    await using device = await connectDevice({ url: hub.url, token })
    const { repositoryId } = secret
    expect(await device.invoke('repositories_GetDetails', { repositoryId })).toMatchObject({ slug: 'secret' })
    // Members of the organization of a private repository see every project that may read the repository.
    expect(await projectsOf(owner, repositoryId)).toContain(project)
  })

  it('of another tenant to a public repository is removed when it becomes private; own links stay', async () => {
    const other = await filled('public-for-now', 'Public')
    const theirs = await hub.project(otherTenant, await hub.organization(otherTenant))
    await link(otherTenant, theirs, other.repositoryId)
    await link(owner, projectId, other.repositoryId)
    expect(await linksOf(otherTenant, theirs)).toEqual([other.repositoryId])
    // The list does not disclose the link of the other tenant.
    expect(await projectsOf(owner, other.repositoryId)).toEqual([projectId])
    const visible = (visibility: 'Public' | 'Private') =>
      owner.invoke('repositories_SetVisibility', { repositoryId: other.repositoryId, visibility })
    await visible('Public')
    expect(await linksOf(otherTenant, theirs)).toHaveLength(1)
    await visible('Private')
    expect(await linksOf(otherTenant, theirs)).toEqual([])
    expect(await linksOf(owner, projectId)).toContain(other.repositoryId)
    const { events } = await otherTenant.invoke('projects_QueryAuditLog', { projectId: theirs })
    expect(events[0]).toMatchObject({ event: 'projects_RepositoryRemoved' })
  })

  it('of another tenant to a public repository is in the log of the project, not of the repository', async () => {
    const { repositoryId } = await filled('logged', 'Public')
    const theirs = await hub.project(otherTenant, await hub.organization(otherTenant))
    const linkEvents = (log: { events: { event: string }[] }) =>
      log.events.filter(({ event }) => event.startsWith('projects_Repository')).map(({ event }) => event)
    for (const [as, project] of [
      [owner, projectId],
      [otherTenant, theirs],
    ] as const) {
      await link(as, project, repositoryId)
      await unlink(as, project, repositoryId)
      const ofProject = linkEvents(await as.invoke('projects_QueryAuditLog', { projectId: project }))
      expect(ofProject.slice(0, 2)).toEqual(['projects_RepositoryRemoved', 'projects_RepositoryAdded'])
    }
    const log = await owner.invoke('repositories_QueryAuditLog', { repositoryId })
    expect(linkEvents(log)).toEqual(['projects_RepositoryRemoved', 'projects_RepositoryAdded'])
    expect(JSON.stringify(log)).not.toContain(otherTenant.email)
  })

  it('made while the repository becomes private does not remain', async () => {
    const theirs = await hub.project(otherTenant, await hub.organization(otherTenant))
    for (let round = 0; round < 8; round++) {
      const repositoryId = await hub.repository(owner, organizationId, { visibility: 'Public' })
      await Promise.allSettled([
        link(otherTenant, theirs, repositoryId),
        owner.invoke('repositories_SetVisibility', { repositoryId, visibility: 'Private' }),
      ])
      expect(await linksOf(otherTenant, theirs)).toEqual([])
    }
  })
})
