import { connectDevice, type FakeDevice, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let attacker: TestUser
let organizationId: string
let elsewhere: string
let device: FakeDevice
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  const fleet = await hub.fleet()
  owner = fleet.owner
  organizationId = fleet.organizationId
  projectId = fleet.projectId
  device = await connectDevice({ url: hub.url, token: fleet.token })
  attacker = await hub.user()
  elsewhere = await hub.organization(attacker)
})
afterAll(async () => {
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

/** Creates a repository of the owner's organization, with a package and a version tagged `stable`. */
async function release(names: { name?: string; displayName?: string }, visibility?: 'Public' | 'Private') {
  const made = await owner.invoke('repositories_Create', { organizationId, visibility, ...names })
  if (made.result !== 'Created') throw new Error('the name is taken')
  const { repositoryId } = made
  const packageId = await hub.package(owner, repositoryId)
  const versionId = await hub.version(owner, packageId, 'stable')
  return { repositoryId, versionId }
}

/**
 * Lets the attacker create two public repositories, each with a version: one with `name` as slug, the other with `name` as
 * display name. Returns the result of creating the repository with the slug.
 */
async function take(name: string) {
  const bySlug = await attacker.invoke('repositories_Create', {
    organizationId: elsewhere,
    name,
    visibility: 'Public',
  })
  const byName = await attacker.invoke('repositories_Create', {
    organizationId: elsewhere,
    displayName: name,
    visibility: 'Public',
  })
  for (const made of [bySlug, byName]) {
    if (made.result !== 'Created') continue
    await hub.version(attacker, await hub.package(attacker, made.repositoryId), 'stable')
  }
  return bySlug.result
}

const follow = (repository: string) =>
  device.invoke('repositories_ResolveVersionByPath', { repository, package: 'firmware', tag: 'stable' })

describe('S21: path with a former name of a repository', () => {
  it.each(['Private', 'Public'] as const)(
    'leads to the %s repository, even if another tenant claims the name',
    async visibility => {
      const slug = `old-slug-${visibility.toLowerCase()}`
      const { repositoryId, versionId } = await release({ name: slug }, visibility)
      await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
      await owner.invoke('repositories_SetSlug', { repositoryId, slug: `new-${slug}` })
      await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: 'Something else' })
      expect(await take(slug)).toBe('NameAlreadyExists')
      expect(await follow(slug)).toMatchObject({ versionId })
      const other = await hub.repository(attacker, elsewhere, { visibility: 'Public' })
      expect(await attacker.invoke('repositories_SetSlug', { repositoryId: other, slug })).toEqual({
        result: 'SlugAlreadyExists',
      })
      // The repository itself may take its former slug again.
      expect(await owner.invoke('repositories_SetSlug', { repositoryId, slug })).toEqual({
        result: 'Success',
      })
      expect(await follow(slug)).toMatchObject({ versionId })
      expect(await follow(`new-${slug}`)).toMatchObject({ versionId })
    },
  )

  it('prefers former display names of the own tenant to any name of another tenant', async () => {
    const { repositoryId, versionId } = await release({ displayName: 'Plant 7' })
    await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
    expect(await follow('Plant 7')).toMatchObject({ versionId })
    await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: 'Plant 8' })
    await take('Plant 7')
    expect(await follow('Plant 7')).toMatchObject({ versionId })

    await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: 'plant-9' })
    await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: 'plant-10' })
    // Former display names are not reserved, so the other tenant gets the slug. The path still resolves to the owner's
    // repository.
    expect(await take('plant-9')).toBe('Created')
    expect(await follow('plant-9')).toMatchObject({ versionId })
  })

  it('leads other tenants to a public repository as well', async () => {
    const { repositoryId } = await release({ name: 'public-before' }, 'Public')
    await owner.invoke('repositories_SetSlug', { repositoryId, slug: 'public-after' })
    expect(await attacker.invoke('repositories_ResolveName', { repository: 'public-before' })).toEqual({
      result: 'Found',
      repositoryId,
    })
  })

  it('reserves the last five slugs of a repository until it is deleted', async () => {
    const { repositoryId } = await release({ name: 'turn-0' })
    for (let turn = 1; turn <= 6; turn++)
      await owner.invoke('repositories_SetSlug', { repositoryId, slug: `turn-${turn}` })
    expect(await take('turn-0')).toBe('Created')
    expect(await take('turn-1')).toBe('NameAlreadyExists')
    await owner.invoke('repositories_Delete', { repositoryId })
    expect(await take('turn-1')).toBe('Created')
  })

  it('reserves a former slug without a gap during the change', async () => {
    const { repositoryId } = await release({ name: 'raced-0' })
    for (let turn = 0; turn < 10; turn++) {
      const [, taken] = await Promise.all([
        owner.invoke('repositories_SetSlug', { repositoryId, slug: `raced-${turn + 1}` }),
        attacker.invoke('repositories_Create', { organizationId: elsewhere, name: `raced-${turn}` }),
      ])
      expect(taken).toEqual({ result: 'NameAlreadyExists' })
    }
  })
})

describe('repositories_SetNames', () => {
  it('changes display name and slug together, and leaves both if the slug is taken', async () => {
    const taken = await hub.repository(attacker, elsewhere, { name: 'taken-slug' })
    const { repositoryId } = await release({ name: 'first-slug' })
    const before = await owner.invoke('repositories_GetDetails', { repositoryId })
    expect(
      await owner.invoke('repositories_SetNames', {
        repositoryId,
        displayName: 'Images',
        slug: 'taken-slug',
      }),
    ).toEqual({ result: 'SlugAlreadyExists', free: ['taken-slug-2', 'taken-slug-3'] })
    expect(await owner.invoke('repositories_GetDetails', { repositoryId })).toEqual(before)
    expect(
      await owner.invoke('repositories_SetNames', { repositoryId, displayName: 'Images', slug: 'images-2' }),
    ).toEqual({ result: 'Success' })
    expect(await owner.invoke('repositories_GetDetails', { repositoryId })).toMatchObject({
      displayName: 'Images',
      slug: 'images-2',
    })
    expect(await owner.invoke('repositories_ResolveName', { repository: 'first-slug' })).toMatchObject({
      repositoryId,
    })
    expect(taken).not.toBe(repositoryId)
  })

  it('gives a slug to one of two repositories that ask for it at once', async () => {
    const ids = [await hub.repository(owner, organizationId), await hub.repository(owner, organizationId)]
    const results = await Promise.all(
      ids.map((repositoryId, index) =>
        owner.invoke('repositories_SetNames', { repositoryId, displayName: `Name ${index}`, slug: 'wanted' }),
      ),
    )
    expect(results.map(({ result }) => result).sort()).toEqual(['SlugAlreadyExists', 'Success'])
    const named = await Promise.all(
      ids.map(repositoryId => owner.invoke('repositories_GetDetails', { repositoryId })),
    )
    const loser = results.findIndex(({ result }) => result === 'SlugAlreadyExists')
    expect(named[loser]!.displayName).not.toBe(`Name ${loser}`)
    expect(named[1 - loser]).toMatchObject({ slug: 'wanted', displayName: `Name ${1 - loser}` })
  })
})

it('counts the devices of the organization that follow a present name of a repository', async () => {
  const { repositoryId } = await release({ name: 'followed-slug' })
  await owner.invoke('projects_LinkRepository', { projectId, repositoryId })
  const counts = () => owner.invoke('repositories_GetFollowers', { repositoryId })
  expect(await counts()).toEqual({ deviceCount: 0, projectCount: 0, otherDeviceCount: 0 })
  await device.invoke('devices_SetProperty', {
    deviceId: device.deviceId,
    name: 'dev.nexigon.ota.status',
    value: { config: { path: 'followed-slug/firmware/stable' }, currentVersion: '1.0.0' },
  })
  expect(await counts()).toEqual({ deviceCount: 1, projectCount: 1, otherDeviceCount: 0 })
  await owner.invoke('repositories_SetSlug', { repositoryId, slug: 'moved-slug' })
  await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: 'Moved' })
  expect(await counts()).toEqual({ deviceCount: 0, projectCount: 0, otherDeviceCount: 0 })
})

it('counts devices of other organizations that follow a public repository, without names', async () => {
  const { repositoryId } = await release({ name: 'public-slug' }, 'Public')
  const { token } = await hub.fleet()
  await using theirs = await connectDevice({ url: hub.url, token })
  await theirs.invoke('devices_SetProperty', {
    deviceId: theirs.deviceId,
    name: 'dev.nexigon.ota.status',
    value: { config: { path: 'public-slug/firmware/stable' }, currentVersion: '1.0.0' },
  })
  const counts = () => owner.invoke('repositories_GetFollowers', { repositoryId })
  expect(await counts()).toEqual({ deviceCount: 0, projectCount: 0, otherDeviceCount: 1 })
  await expect(attacker.invoke('repositories_GetFollowers', { repositoryId })).rejects.toMatchObject({
    kind: 'Forbidden',
  })
  await owner.invoke('repositories_SetVisibility', { repositoryId, visibility: 'Private' })
  expect(await counts()).toEqual({ deviceCount: 0, projectCount: 0, otherDeviceCount: 0 })
})

it('S32: counts devices whose path resolves to this repository only, not to one that another tenant named alike', async () => {
  const { repositoryId } = await release({ name: 'victim-slug' }, 'Public')
  const { token, projectId: thirdProjectId } = await hub.fleet()
  await using theirs = await connectDevice({ url: hub.url, token })
  for (const one of [device, theirs])
    await one.invoke('devices_SetProperty', {
      deviceId: one.deviceId,
      name: 'dev.nexigon.ota.status',
      value: { config: { path: 'victim-slug/firmware/stable' }, currentVersion: '1.0.0' },
    })
  const made = await attacker.invoke('repositories_Create', {
    organizationId: elsewhere,
    displayName: 'victim-slug',
    visibility: 'Public',
  })
  const alike = (made as { repositoryId: string }).repositoryId
  const own = () => owner.invoke('repositories_GetFollowers', { repositoryId })
  const others = () => attacker.invoke('repositories_GetFollowers', { repositoryId: alike })
  expect(await others()).toEqual({ deviceCount: 0, projectCount: 0, otherDeviceCount: 0 })
  expect(await own()).toEqual({ deviceCount: 1, projectCount: 1, otherDeviceCount: 1 })

  // A linked repository goes before a slug of another tenant, which then leads to nothing.
  await hub.db
    .insertInto('project_repository')
    .values({ project_id: thirdProjectId, repository_id: alike })
    .execute()
  expect(await own()).toEqual({ deviceCount: 1, projectCount: 1, otherDeviceCount: 0 })
  expect(await others()).toEqual({ deviceCount: 0, projectCount: 0, otherDeviceCount: 0 })
  await owner.invoke('repositories_SetSlug', { repositoryId, slug: 'victim-moved' })
  await owner.invoke('repositories_SetDisplayName', { repositoryId, displayName: 'Moved' })
  expect(await others()).toEqual({ deviceCount: 0, projectCount: 0, otherDeviceCount: 1 })
})
