import { newId } from '@muster/actions'
import { assetRow, auditEvents, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let organizationId: string
let repositoryId: string
let packageId: string
let versionId: string
let assetId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  organizationId = await hub.organization(owner)
  repositoryId = await hub.repository(owner, organizationId)
  packageId = await hub.package(owner, repositoryId)
  versionId = await hub.version(owner, packageId)
  assetId = await assetRow(hub, repositoryId, { size: 2 ** 40 })
})
afterAll(() => hub[Symbol.asyncDispose]())

type Holder = {
  add: (filename: string, asset?: string, metadata?: Record<string, unknown>) => Promise<{ result: string }>
  remove: (filename: string) => Promise<unknown>
  setMetadata: (filename: string, metadata: Record<string, unknown>) => Promise<unknown>
  files: () => Promise<{ filename: string; metadata: Record<string, unknown> }[]>
}

const HOLDERS: [string, Holder][] = [
  [
    'version',
    {
      add: (filename, asset = assetId, metadata) =>
        owner.invoke('repositories_AddVersionAsset', { versionId, assetId: asset, filename, metadata }),
      remove: filename => owner.invoke('repositories_RemoveVersionAsset', { versionId, filename }),
      setMetadata: (filename, metadata) =>
        owner.invoke('repositories_SetVersionAssetMetadata', { versionId, filename, metadata }),
      files: async () => (await owner.invoke('repositories_GetVersionDetails', { versionId })).assets,
    },
  ],
  [
    'package',
    {
      add: (filename, asset = assetId, metadata) =>
        owner.invoke('repositories_AddPackageAsset', { packageId, assetId: asset, filename, metadata }),
      remove: filename => owner.invoke('repositories_RemovePackageAsset', { packageId, filename }),
      setMetadata: (filename, metadata) =>
        owner.invoke('repositories_SetPackageAssetMetadata', { packageId, filename, metadata }),
      files: async () => (await owner.invoke('repositories_GetPackageDetails', { packageId })).assets,
    },
  ],
]

describe.each(HOLDERS)('file of a %s', (of, { add, remove, setMetadata, files }) => {
  it('is added, returned with its blob, and removed', async () => {
    const metadata = { rugix: { bundleHash: 'sha512-256:ab' } }
    expect(await add('image.rugixb', assetId, metadata)).toEqual({ result: 'Added' })
    const { digest } = await hub.db
      .selectFrom('asset')
      .where('asset_id', '=', assetId)
      .select('digest')
      .executeTakeFirstOrThrow()
    expect(await files()).toEqual([
      {
        filename: 'image.rugixb',
        assetId,
        size: 2 ** 40,
        digest,
        status: 'Available',
        storage: { status: 'Unknown' },
        metadata,
      },
    ])
    await setMetadata('image.rugixb', { other: true })
    expect(await files()).toMatchObject([{ metadata: { other: true } }])
    await setMetadata('image.rugixb', JSON.parse('{"__proto__": 1}') as Record<string, unknown>)
    expect(JSON.stringify((await files())[0]!.metadata)).toBe('{"__proto__":1}')
    expect(await remove('image.rugixb')).toEqual({})
    expect(await files()).toEqual([])
  })

  it('has a unique name, whatever its blob', async () => {
    expect(await add('one')).toEqual({ result: 'Added' })
    expect(await add('one')).toEqual({ result: 'FilenameAlreadyExists' })
    expect(await add('one', await assetRow(hub, repositoryId))).toEqual({ result: 'FilenameAlreadyExists' })
    expect(await add('One')).toEqual({ result: 'Added' })
    for (const name of ['one', 'One']) await remove(name)
  })

  it.each([
    'a',
    '.hidden',
    '...',
    'a b',
    'x'.repeat(255),
    'ü'.repeat(127),
    `${'x'.repeat(200)}/${'y'.repeat(55)}`,
    '😀'.repeat(63),
    'dir/sub/file.tar.gz',
    '<script>alert(1)</script>',
    "'; drop table asset; --",
    '%2e%2e',
    '漢字',
    '\u202egpj.exe',
    'a:b*c?"d|',
    '__proto__',
  ])('may be named %j', async filename => {
    expect(await add(filename)).toEqual({ result: 'Added' })
    expect(await files()).toMatchObject([{ filename }])
    await remove(filename)
  })

  it.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    '../a',
    'a/../b',
    'a/..',
    './a',
    'a/.',
    'a\\b',
    '..\\a',
    'a\0',
    'a\nb',
    'a\rb',
    'a\u007f',
    '\ud800',
    'x'.repeat(256),
    'ü'.repeat(128),
    `${'x'.repeat(200)}/${'y'.repeat(56)}`,
  ])('cannot be named %j', async filename => {
    await expect(add(filename)).rejects.toMatchObject({ kind: 'Invalid', status: 400 })
  })

  it('cannot be the folder of another file, whichever is added first', async () => {
    await add('a/b/c')
    const message = (folder: string, inside: string) => ({
      kind: 'Invalid',
      message: `"${folder}" cannot be a file and the folder of "${inside}" at once.`,
    })
    await expect(add('a')).rejects.toMatchObject(message('a', 'a/b/c'))
    await expect(add('a/b')).rejects.toMatchObject(message('a/b', 'a/b/c'))
    await expect(add('a/b/c/d')).rejects.toMatchObject(message('a/b/c', 'a/b/c/d'))
    for (const name of ['a/b/d', 'a/c', 'ab', 'a-']) expect(await add(name)).toEqual({ result: 'Added' })
    for (const name of ['a/b/c', 'a/b/d', 'a/c', 'ab', 'a-']) await remove(name)
  })

  it('is neither duplicated nor a folder after concurrent additions', async () => {
    const answers = await Promise.allSettled([
      ...Array.from({ length: 6 }, () => add('r')),
      ...Array.from({ length: 6 }, (_, at) => add(`r/${at}`)),
    ])
    const names = (await files()).map(({ filename }) => filename)
    const added = answers.filter(one => one.status === 'fulfilled' && one.value.result === 'Added')
    expect(added).toHaveLength(names.length)
    expect(names.includes('r') ? names : ['r']).toEqual(['r'])
    for (const one of answers) if (one.status === 'rejected') expect(one.reason.kind).toBe('Invalid')
    for (const name of names) await remove(name)
  })

  it('may refer to a blob that is not uploaded yet, but not to one that is being deleted', async () => {
    const coming = await assetRow(hub, repositoryId, { status: 'Dangling' })
    expect(await add('coming', coming)).toEqual({ result: 'Added' })
    expect(await files()).toMatchObject([{ status: 'Dangling' }])
    await remove('coming')
    const going = await assetRow(hub, repositoryId, { status: 'Deleting' })
    await expect(add('going', going)).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('must refer to a blob of the same repository; other blobs count as missing', async () => {
    const own = await assetRow(hub, await hub.repository(owner, organizationId))
    const otherTenant = await hub.user()
    const theirs = await assetRow(hub, await hub.repository(otherTenant, await hub.organization(otherTenant)))
    for (const one of [own, theirs, newId('repo_a')])
      await expect(add('a', one)).rejects.toMatchObject({
        kind: 'Invalid',
        message: 'The asset is not one of the same repository.',
      })
  })

  it('must exist to be removed or to get metadata', async () => {
    const missing = { kind: 'Invalid', status: 404, message: `The ${of} has no file named "none".` }
    await expect(remove('none')).rejects.toMatchObject(missing)
    await expect(setMetadata('none', {})).rejects.toMatchObject(missing)
    for (const name of ['a\0', '\ud800', ''])
      await expect(remove(name)).rejects.toMatchObject({ kind: 'Invalid' })
  })
})

it('records an audit event for each change of a file', async () => {
  const [[, version], [, inPackage]] = HOLDERS as [[string, Holder], [string, Holder]]
  for (const { add, setMetadata, remove } of [version, inPackage]) {
    await add('logged')
    await setMetadata('logged', { a: 1 })
    await remove('logged')
  }
  const events = (await auditEvents(hub)).slice(-6)
  expect(events.map(({ event, data }) => [event.replace('repositories_', ''), data])).toEqual([
    ['PackageVersionAssetAdded', { repositoryId, versionId, assetId, filename: 'logged' }],
    ['PackageVersionAssetMetadataChanged', { repositoryId, versionId, filename: 'logged' }],
    ['PackageVersionAssetRemoved', { repositoryId, versionId, filename: 'logged' }],
    ['PackageAssetAdded', { repositoryId, packageId, assetId, filename: 'logged' }],
    ['PackageAssetMetadataChanged', { repositoryId, packageId, filename: 'logged' }],
    ['PackageAssetRemoved', { repositoryId, packageId, filename: 'logged' }],
  ])
})
