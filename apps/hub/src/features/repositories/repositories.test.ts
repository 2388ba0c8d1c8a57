import { newId } from '@muster/actions'
import {
  assetRow,
  auditEvents,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let otherTenant: TestUser
let organizationId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  otherTenant = await hub.user()
  organizationId = await hub.organization(owner)
})
afterAll(() => hub[Symbol.asyncDispose]())

const create = (names: { name?: string; displayName?: string }, as = owner, organization = organizationId) =>
  as.invoke('repositories_Create', { organizationId: organization, ...names })

async function made(names: { name?: string; displayName?: string }): Promise<string> {
  const answer = await create(names)
  if (answer.result !== 'Created') throw new Error(answer.result)
  return answer.repositoryId
}

const detailsOf = (repositoryId: string, as = owner) => as.invoke('repositories_GetDetails', { repositoryId })

describe('repository name', () => {
  it('becomes the slug as well if it is valid in a path', async () => {
    const repositoryId = await made({ name: 'Firmware_1.0-x' })
    expect(await detailsOf(repositoryId)).toEqual({
      repositoryId,
      organizationId,
      name: 'Firmware_1.0-x',
      displayName: 'Firmware_1.0-x',
      slug: 'Firmware_1.0-x',
      publicName: 'Firmware_1.0-x',
      visibility: 'Private',
      packageCount: 0,
      versionCount: 0,
      assetCount: 0,
    })
  })

  it.each([
    ['has blanks', 'Crane firmware'],
    ['begins with a dot', '.hidden'],
    ['is not in Latin letters', 'プログラム'],
    ['is HTML', '<img src=x onerror=alert(1)>'],
    ['looks like the id of a repository', newId('repo')],
    ['looks like the id of a package', newId('pkg')],
    ['has 128 characters of two code units', '😀'.repeat(128)],
  ])('is only a display name if it %s, and cannot be sent again as a name', async (_what, name) => {
    const repositoryId = await made({ name })
    const details = await detailsOf(repositoryId)
    expect(details).toMatchObject({ name, displayName: name, publicName: repositoryId })
    expect(details).not.toHaveProperty('slug')
    const elsewhere = await hub.organization(otherTenant)
    expect(await create({ name }, otherTenant, elsewhere)).toEqual({ result: 'NameAlreadyExists' })
  })

  it('is unique in the instance if it is valid in a path', async () => {
    await made({ name: 'taken' })
    const elsewhere = await hub.organization(otherTenant)
    expect(await create({ name: 'taken' }, otherTenant, elsewhere)).toEqual({ result: 'NameAlreadyExists' })
    expect(await create({ name: 'Taken' }, otherTenant, elsewhere)).toMatchObject({ result: 'Created' })
  })

  it('may be reused as a display name, which leaves the slug free', async () => {
    const [one, two] = [await made({ displayName: 'shared' }), await made({ displayName: 'shared' })]
    expect(await detailsOf(one)).toMatchObject({ name: 'shared', publicName: one })
    expect(await detailsOf(two)).toMatchObject({ name: 'shared', publicName: two })
    expect(await made({ name: 'shared' })).toBeDefined()
  })

  it('may be sent together with a display name', async () => {
    const repositoryId = await made({ name: 'both-names', displayName: 'Both names' })
    expect(await detailsOf(repositoryId)).toMatchObject({ displayName: 'Both names', slug: 'both-names' })
  })

  it.each([
    ['is missing', {}],
    ['is empty', { name: '' }],
    ['is blank', { name: ' \t' }],
    ['is null', { name: null as never }],
    ['contains NUL', { name: 'a\0b' }],
    ['contains a lone surrogate', { displayName: 'a\ud800' }],
    ['contains a line break', { displayName: 'a\nb' }],
    ['has 129 characters', { name: 'x'.repeat(129) }],
  ])('is refused if it %s', async (_what, names) => {
    await expect(create(names)).rejects.toMatchObject({ kind: 'Invalid', status: 400 })
  })

  it.each(['one-slug', 'One name for people'])(
    'is given to one of several concurrent calls: %s',
    async name => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name })))
      expect(answers.map(answer => answer.result).sort()).toEqual([
        'Created',
        ...Array(7).fill('NameAlreadyExists'),
      ])
    },
  )

  it('can change for display without a change of the slug', async () => {
    const repositoryId = await made({ name: 'before' })
    await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: ' After all ' })
    expect(await detailsOf(repositoryId)).toMatchObject({ name: 'After all', slug: 'before' })
  })

  it('I3: is replaced by the slug, or else the id, when the display name is removed', async () => {
    const named = await made({ name: 'shown-slug', displayName: 'For people' })
    await owner.invoke('repositories_SetDisplayName', { repositoryId: named, displayName: null })
    expect(await detailsOf(named)).toMatchObject({ displayName: 'shown-slug', slug: 'shown-slug' })
    const bare = await made({ displayName: 'For people' })
    await owner.invoke('repositories_SetDisplayName', { repositoryId: bare })
    expect(await detailsOf(bare)).toMatchObject({ displayName: bare, publicName: bare })
  })
})

describe('repository slug', () => {
  it('is set, may be set again, and is refused when another repository has it', async () => {
    const repositoryId = await made({ displayName: 'No handle' })
    const set = (slug: string) => owner.invoke('repositories_SetSlug', { repositoryId, slug })
    expect(await set('some.handle')).toEqual({ result: 'Success' })
    expect(await set('some.handle')).toEqual({ result: 'Success' })
    await made({ name: 'other.handle' })
    expect(await set('other.handle')).toEqual({ result: 'SlugAlreadyExists' })
    expect(await detailsOf(repositoryId)).toMatchObject({ slug: 'some.handle', publicName: 'some.handle' })
  })

  it.each(['_a', '-a', '.', 'a/b', 'a b', 'ä', 'a\0', 'x'.repeat(129), newId('repo'), newId('pkg_v')])(
    'cannot be %j',
    async slug => {
      const repositoryId = await made({ displayName: 'No handle' })
      await expect(owner.invoke('repositories_SetSlug', { repositoryId, slug })).rejects.toMatchObject({
        kind: 'Invalid',
        issues: [{ path: 'slug' }],
      })
    },
  )

  it('is given to one of several concurrent calls; the others get a conflict', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => made({ displayName: 'Racer' })))
    const answers = await Promise.all([
      ...ids.map(repositoryId => owner.invoke('repositories_SetSlug', { repositoryId, slug: 'the-prize' })),
      create({ name: 'the-prize' }),
    ])
    const winners = answers.filter(({ result }) => result === 'Success' || result === 'Created')
    expect(winners).toHaveLength(1)
    for (const { result } of answers)
      expect(['Success', 'Created', 'SlugAlreadyExists', 'NameAlreadyExists']).toContain(result)
  })
})

describe('repository', () => {
  it('is deleted with its packages, versions, files, locked tags and links; other repositories stay', async () => {
    const projectId = await hub.project(owner, organizationId)
    const [gone, kept] = [
      await hub.repository(owner, organizationId),
      await hub.repository(owner, organizationId),
    ]
    for (const repositoryId of [gone, kept]) {
      const packageId = await hub.package(owner, repositoryId)
      const versionId = await hub.version(owner, packageId)
      await owner.invoke('repositories_TagVersion', { versionId, tags: [{ tag: 'v1', locked: true }] })
      const assetId = await assetRow(hub, repositoryId)
      await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename: 'a' })
      await owner.invoke('repositories_AddPackageAsset', { packageId, assetId, filename: 'a' })
      await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
    }
    expect(await owner.invoke('repositories_Delete', { repositoryId: gone })).toEqual({})
    await expect(detailsOf(gone)).rejects.toMatchObject({ kind: 'Forbidden' })
    expect(await detailsOf(kept)).toMatchObject({ packageCount: 1, assetCount: 1 })
    const { repositories } = await owner.invoke('projects_QueryLinkedRepositories', { projectId })
    expect(repositories.map(({ repositoryId }) => repositoryId)).toEqual([kept])
    expect((await auditEvents(hub, 'repositories_Deleted')).at(-1)).toMatchObject({
      data: { repositoryId: gone, organizationId },
      organizationId,
    })
  })

  it('is deleted with its organization, also when it contains files', async () => {
    const organization = await hub.organization(owner)
    const repositoryId = await hub.repository(owner, organization)
    const packageId = await hub.package(owner, repositoryId)
    const versionId = await hub.version(owner, packageId, 'stable')
    const assetId = await assetRow(hub, repositoryId)
    await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename: 'a' })
    await owner.invoke('organizations_Delete', { organizationId: organization })
    const left = await hub.db.selectFrom('asset').where('asset_id', '=', assetId).select('asset_id').execute()
    expect(left).toEqual([])
  })

  it('can be deleted during concurrent additions, and leaves no packages behind', async () => {
    const repositoryId = await hub.repository(owner, organizationId)
    const packageId = await hub.package(owner, repositoryId)
    const versionId = await hub.version(owner, packageId)
    const assetId = await assetRow(hub, repositoryId)
    const answers = await Promise.allSettled([
      ...Array.from({ length: 6 }, (_, at) => hub.package(owner, repositoryId, `p${at}`)),
      ...Array.from({ length: 6 }, () => hub.version(owner, packageId, 'stable')),
      owner.invoke('repositories_Delete', { repositoryId }),
      ...Array.from({ length: 6 }, (_, at) =>
        owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename: `f${at}` }),
      ),
    ])
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ kind: 'Forbidden' })
    expect(answers[12]!.status).toBe('fulfilled')
    const left = await hub.db
      .selectFrom('package')
      .where('repository_id', '=', repositoryId)
      .select('package_id')
      .execute()
    expect(left).toEqual([])
  })

  it('can be moved to another organization by administrators of the instance only', async () => {
    const administrator = await hub.user({ isAdmin: true })
    const target = await hub.organization(otherTenant)
    const projectId = await hub.project(owner, organizationId)
    const repositoryId = await hub.repository(owner, organizationId)
    await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
    const move = (as: TestUser, organization = target) =>
      as.invoke('repositories_SetOrganization', { repositoryId, organizationId: organization })
    await expect(move(owner)).rejects.toMatchObject({ kind: 'Forbidden' })
    await expect(move(otherTenant)).rejects.toMatchObject({ kind: 'Forbidden' })
    await expect(move(administrator, newId('org'))).rejects.toMatchObject({ kind: 'Forbidden' })
    expect(await move(administrator)).toEqual({})
    expect(await move(administrator)).toEqual({})
    await expect(detailsOf(repositoryId)).rejects.toMatchObject({ kind: 'Forbidden' })
    expect(await detailsOf(repositoryId, otherTenant)).toMatchObject({ organizationId: target })
    const { repositories } = await owner.invoke('projects_QueryLinkedRepositories', { projectId })
    expect(repositories).toEqual([])
    const { events } = await otherTenant.invoke('repositories_QueryAuditLog', { repositoryId })
    expect(events.map(({ event }) => event)).toEqual([
      'projects_RepositoryRemoved',
      'repositories_OrganizationChanged',
      'projects_RepositoryAdded',
      'repositories_Created',
    ])
    expect(events[1]!.data).toMatchObject({
      previousOrganizationId: organizationId,
      newOrganizationId: target,
    })
  })

  it('notifies consoles of its own organization only', async () => {
    const repositoryId = await hub.repository(owner, organizationId)
    await using theirs = await liveStream(hub, otherTenant)
    await using ours = await liveStream(hub, owner)
    await owner.invoke('repositories_SetVisibility', { repositoryId, visibility: 'Public' })
    const packageId = await hub.package(owner, repositoryId)
    await hub.version(owner, packageId, 'stable')
    for (const topic of ['repositories', 'packages'])
      await until(`the notice of ${topic}`, () =>
        ours.changes.some(change => change.topic === topic && change.repositoryId === repositoryId),
      )
    expect(theirs.changes).toEqual([])
  })
})
