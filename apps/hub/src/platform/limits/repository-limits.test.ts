import { newId } from '@muster/actions'
import { testHub } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'

const { limits } = loadConfig({})
const hub = await testHub({
  limits: {
    ...limits,
    'organization-bytes': 100_000,
    'repository-packages': 2,
    'package-versions': 3,
    'repository-waiting-blobs': 2,
  },
})
afterAll(() => hub[Symbol.asyncDispose]())

it('S30: a repository has at most as many packages as the limit says, also when they are created at the same time', async () => {
  const { owner, organizationId } = await hub.fleet()
  const repositoryId = await hub.repository(owner, organizationId)
  const create = (name: string) => owner.invoke('repositories_CreatePackage', { repositoryId, name })
  const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map(create))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  await expect(create('f')).rejects.toMatchObject({
    kind: 'Invalid',
    status: 409,
    message:
      'Limit repository-packages: found 3, expected at most 2 packages. Delete packages that are not used any more.',
  })
  const { packages } = await owner.invoke('repositories_QueryPackages', { repositoryId })
  expect(packages).toHaveLength(2)
  // An existing name is answered as before.
  expect(await create(packages[0]!.name)).toEqual({ result: 'NameAlreadyExists' })
})

it('S30: a package has at most as many versions as the limit says, and keeps those that exist', async () => {
  const { owner, organizationId } = await hub.fleet()
  const packageId = await hub.package(owner, await hub.repository(owner, organizationId))
  const create = () => owner.invoke('repositories_CreateVersion', { packageId })
  const results = await Promise.allSettled([create(), create(), create(), create(), create()])
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  await expect(create()).rejects.toMatchObject({
    status: 409,
    message:
      'Limit package-versions: found 4, expected at most 3 versions. Delete versions that are not used any more.',
  })
  // Versions of the time before the limit stay; only further ones are refused.
  const old = Array.from({ length: 4 }, () => newId('pkg_v'))
  await hub.pool.query('insert into package_version (version_id, package_id) select unnest($1::text[]), $2', [
    old,
    packageId,
  ])
  await expect(create()).rejects.toMatchObject({
    message: expect.stringContaining('found 8, expected at most 3'),
  })
  const { versions } = await owner.invoke('repositories_QueryPackageVersions', { packageId })
  expect(versions).toHaveLength(7)
})

it('a repository has at most as many blobs that wait for their upload as the limit says, and any number of uploaded ones', async () => {
  const { owner, organizationId } = await hub.fleet()
  const repositoryId = await hub.repository(owner, organizationId)
  const digests = ['1', '2', '3', '4'].map(digit => `sha256_${digit.repeat(64)}`)
  const register = (digest: string) =>
    owner.invoke('repositories_CreateAsset', { repositoryId, size: 1, digest })
  const [first, second, third, fourth] = digests as [string, string, string, string]
  for (const digest of [first, second]) expect(await register(digest)).toMatchObject({ result: 'Created' })
  await expect(register(third)).rejects.toMatchObject({
    kind: 'Invalid',
    status: 409,
    message:
      'Limit repository-waiting-blobs: found 3, expected at most 2 blobs. Upload blobs that are registered, or delete them. The hub deletes them a day after their registration.',
  })
  // A registered digest is answered as before, and the blobs of another repository do not count.
  expect(await register(first)).toMatchObject({ result: 'AssetAlreadyExists' })
  const elsewhere = await hub.repository(owner, organizationId)
  expect(
    await owner.invoke('repositories_CreateAsset', { repositoryId: elsewhere, size: 1, digest: third }),
  ).toMatchObject({ result: 'Created' })
  await hub.db
    .updateTable('asset')
    .set({ status: 'Available' })
    .where('repository_id', '=', repositoryId)
    .execute()
  for (const digest of [third, fourth]) expect(await register(digest)).toMatchObject({ result: 'Created' })
})

it('S30: metadata counts in the bytes of its organization; over the limit no more is written', async () => {
  const { owner, organizationId } = await hub.fleet()
  const repositoryId = await hub.repository(owner, organizationId)
  const packageId = await hub.package(owner, repositoryId)
  // Random text, which PostgreSQL cannot compress below the limit.
  const metadata = { note: Array.from({ length: 1_500 }, () => crypto.randomUUID()).join('') }
  const create = (more: object) => owner.invoke('repositories_CreateVersion', { packageId, ...more })
  for (let count = 0; count < 2; count++) await create({ metadata })
  const other = await hub.fleet()
  const otherPackage = await hub.package(other.owner, await hub.repository(other.owner, other.organizationId))
  await hub.runJob('devices_MeasureStored', {})

  await expect(create({ metadata: { small: true } })).rejects.toMatchObject({
    kind: 'Invalid',
    status: 409,
    message: expect.stringMatching(
      /^Limit organization-bytes: found \d{5,}, expected at most 100000 bytes\. Delete devices, packages or versions that are not used any more, then wait 10 minutes\.$/,
    ),
  })
  await expect(
    owner.invoke('repositories_SetPackageMetadata', { packageId, metadata }),
  ).rejects.toMatchObject({
    message: expect.stringContaining('Limit organization-bytes'),
  })
  // A version without metadata, an emptied metadata and other organizations are accepted.
  const { versionId } = await create({})
  await owner.invoke('repositories_SetVersionMetadata', { versionId, metadata: {} })
  await other.owner.invoke('repositories_CreateVersion', { packageId: otherPackage, metadata })

  const { versions } = await owner.invoke('repositories_QueryPackageVersions', { packageId })
  for (const version of versions)
    await owner.invoke('repositories_DeleteVersion', { versionId: version.versionId })
  await hub.runJob('devices_MeasureStored', {})
  expect(await create({ metadata })).toMatchObject({ result: 'Created' })
})
