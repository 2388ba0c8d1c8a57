import { newId } from '@muster/actions'
import { ask, assetRow, auditEvents, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let repositoryId: string
let packageId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  repositoryId = await hub.repository(owner, await hub.organization(owner))
  packageId = await hub.package(owner, repositoryId, 'main')
})
afterAll(() => hub[Symbol.asyncDispose]())

const detailsOf = () => owner.invoke('repositories_GetPackageDetails', { packageId })
const versionDetails = (versionId: string) => owner.invoke('repositories_GetVersionDetails', { versionId })

const NOT_PATH_NAMES = [
  '_a',
  ' ',
  '-a',
  '.',
  '..',
  'a/b',
  'a b',
  'ä',
  '<b>',
  'a\0',
  '\u202ea',
  'x'.repeat(129),
  newId('pkg'),
  newId('pkg_v'),
]

describe('package', () => {
  it('is created with kind and metadata, and returned with its version count', async () => {
    const metadata = { 'any key': [1, { deep: null }], html: '<b>', rtl: '\u202e', '': 'empty' }
    const made = await owner.invoke('repositories_CreatePackage', {
      repositoryId,
      name: 'Full_1.0-x',
      kind: 'rugix-app',
      metadata,
    })
    if (made.result !== 'Created') throw new Error(made.result)
    await hub.version(owner, made.packageId)
    const details = await owner.invoke('repositories_GetPackageDetails', { packageId: made.packageId })
    expect(details).toEqual({
      packageId: made.packageId,
      repositoryId,
      name: 'Full_1.0-x',
      kind: 'rugix-app',
      versionCount: 1,
      metadata,
      assets: [],
    })
  })

  it('has a name that is unique within its repository', async () => {
    const create = (repository: string) =>
      owner.invoke('repositories_CreatePackage', { repositoryId: repository, name: 'taken' })
    expect(await create(repositoryId)).toMatchObject({ result: 'Created' })
    expect(await create(repositoryId)).toEqual({ result: 'NameAlreadyExists' })
    const other = await hub.repository(owner, await hub.organization(owner))
    expect(await create(other)).toMatchObject({ result: 'Created' })
  })

  it.each(NOT_PATH_NAMES)('cannot be named %j', async name => {
    const refused = { kind: 'Invalid', issues: [{ path: 'name' }] }
    await expect(owner.invoke('repositories_CreatePackage', { repositoryId, name })).rejects.toMatchObject(
      refused,
    )
    await expect(owner.invoke('repositories_SetPackageName', { packageId, name })).rejects.toMatchObject(
      refused,
    )
  })

  it('gets a name only once under concurrent creations and renames', async () => {
    const others = await Promise.all(['r1', 'r2', 'r3'].map(name => hub.package(owner, repositoryId, name)))
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () =>
        owner.invoke('repositories_CreatePackage', { repositoryId, name: 'raced' }),
      ),
      ...others.map(one => owner.invoke('repositories_SetPackageName', { packageId: one, name: 'raced' })),
    ])
    const results = answers.map(({ result }) => result)
    expect(results.filter(result => result !== 'NameAlreadyExists')).toHaveLength(1)
  })

  it('is renamed, also to its present name', async () => {
    const one = await hub.package(owner, repositoryId, 'before')
    const rename = (name: string) => owner.invoke('repositories_SetPackageName', { packageId: one, name })
    expect(await rename('after')).toEqual({ result: 'Success' })
    expect(await rename('after')).toEqual({ result: 'Success' })
    expect(await rename('main')).toEqual({ result: 'NameAlreadyExists' })
    expect(await hub.package(owner, repositoryId, 'before')).toBeDefined()
  })

  it('can get a kind and lose it', async () => {
    await owner.invoke('repositories_SetPackageKind', { packageId, kind: 'x'.repeat(64) })
    expect((await detailsOf()).kind).toBe('x'.repeat(64))
    await owner.invoke('repositories_SetPackageKind', { packageId, kind: null })
    expect(await detailsOf()).not.toHaveProperty('kind')
    for (const kind of ['x'.repeat(65), 'a\0', 'a\nb', '\ud800'])
      await expect(owner.invoke('repositories_SetPackageKind', { packageId, kind })).rejects.toMatchObject({
        kind: 'Invalid',
      })
  })

  it('is listed with kind and time, and found by a part of its name', async () => {
    const { packages } = await owner.invoke('repositories_QueryPackages', {
      repositoryId,
      filter: { text: 'L_1.' },
    })
    expect(packages).toMatchObject([{ name: 'Full_1.0-x', kind: 'rugix-app' }])
    expect(Date.parse(packages[0]!.createdAt)).toBeGreaterThan(Date.now() - 60_000)
  })

  it('is deleted with its versions; its blobs stay and its name is free again', async () => {
    const one = await hub.package(owner, repositoryId, 'short-lived')
    const versionId = await hub.version(owner, one, 'stable')
    const assetId = await assetRow(hub, repositoryId)
    await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename: 'a' })
    expect(await owner.invoke('repositories_DeletePackage', { packageId: one })).toEqual({})
    await expect(versionDetails(versionId)).rejects.toMatchObject({ kind: 'Forbidden' })
    expect(await hub.package(owner, repositoryId, 'short-lived')).toBeDefined()
    const { assets } = await owner.invoke('repositories_QueryAssets', { repositoryId })
    expect(assets.map(asset => asset.assetId)).toContain(assetId)
  })
})

describe('metadata', () => {
  it('is replaced as a whole', async () => {
    const versionId = await hub.version(owner, packageId)
    for (const metadata of [{ a: 1, b: { c: [true] } }, { z: 'only' }, {}]) {
      await owner.invoke('repositories_SetPackageMetadata', { packageId, metadata })
      await owner.invoke('repositories_SetVersionMetadata', { versionId, metadata })
      expect((await detailsOf()).metadata).toEqual(metadata)
      expect((await versionDetails(versionId)).metadata).toEqual(metadata)
    }
  })

  it('keeps members of any name, such as `__proto__`', async () => {
    const versionId = await hub.version(owner, packageId)
    const text = '{"__proto__": {"polluted": true}, "constructor": 1}'
    const metadata = JSON.parse(text) as Record<string, unknown>
    await owner.invoke('repositories_SetPackageMetadata', { packageId, metadata })
    await owner.invoke('repositories_SetVersionMetadata', { versionId, metadata })
    for (const stored of [(await detailsOf()).metadata, (await versionDetails(versionId)).metadata])
      expect(JSON.stringify(stored)).toBe(JSON.stringify(metadata))
  })

  it('keeps every digit of numbers, for packages, versions and files', async () => {
    const metadata = '{"build":12345678901234567890,"price":1.10,"ratio":0.1234567890123456789}'
    const assetId = await assetRow(hub, repositoryId)
    const run = async (name: string, input: string) => {
      const { status, text } = await ask(hub, `/api/v1/actions/invoke/${name}`, { as: owner, body: input })
      expect([status, text]).toEqual([200, expect.any(String)])
      return text.replaceAll(/\s/g, '')
    }
    const made = await run(
      'repositories_CreateVersion',
      `{"packageId":"${packageId}","metadata":${metadata},"name":"exact"}`,
    )
    const { versionId } = JSON.parse(made) as { versionId: string }
    await run('repositories_SetPackageMetadata', `{"packageId":"${packageId}","metadata":${metadata}}`)
    const file = `"versionId":"${versionId}","assetId":"${assetId}","filename":"exact"`
    await run('repositories_AddVersionAsset', `{${file},"metadata":${metadata}}`)
    const version = await run('repositories_GetVersionDetails', `{"versionId":"${versionId}"}`)
    expect(version.split('12345678901234567890')).toHaveLength(3)
    for (const digits of ['1.10', '0.1234567890123456789']) expect(version.split(digits)).toHaveLength(3)
    expect(await run('repositories_GetPackageDetails', `{"packageId":"${packageId}"}`)).toContain(
      '12345678901234567890',
    )
  })

  it('is limited to 64 KiB of JSON', async () => {
    const set = (metadata: Record<string, unknown>) =>
      owner.invoke('repositories_SetPackageMetadata', { packageId, metadata })
    expect(await set({ a: 'x'.repeat(64 * 1024 - 8) })).toEqual({})
    await expect(set({ a: 'x'.repeat(64 * 1024 - 7) })).rejects.toMatchObject({ kind: 'Invalid' })
    await expect(set({ a: 'ä'.repeat(32 * 1024) })).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it.each([
    ['NUL in a value', { a: 'x\0' }],
    ['NUL in a key', { 'a\0': 1 }],
    ['a lone surrogate', { a: ['\udc00'] }],
    ['an array in place of an object', [] as never],
    ['null', null as never],
  ])('is refused with %s', async (_what, metadata) => {
    await expect(
      owner.invoke('repositories_SetPackageMetadata', { packageId, metadata }),
    ).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('keeps a backslash followed by u0000, which is not NUL', async () => {
    const metadata = { a: '\\u0000', b: '\\\\ud800' }
    await owner.invoke('repositories_SetPackageMetadata', { packageId, metadata })
    expect((await detailsOf()).metadata).toEqual(metadata)
  })
})

describe('version', () => {
  it('is created without fields, as clients of 2025 do, or with name, metadata and tags', async () => {
    const bare = await owner.invoke('repositories_CreateVersion', { packageId })
    const { createdAt, ...details } = await versionDetails(bare.versionId)
    expect(details).toEqual({
      versionId: bare.versionId,
      repositoryId,
      packageId,
      assets: [],
      tags: [],
      metadata: {},
    })
    expect(Date.parse(createdAt)).toBeGreaterThan(Date.now() - 60_000)
    const full = await owner.invoke('repositories_CreateVersion', {
      packageId,
      name: 'Summer <release>',
      metadata: { imageVersion: '1.2' },
      tags: [{ tag: 'b' }, { tag: 'a', locked: true }],
    })
    expect(await versionDetails(full.versionId)).toMatchObject({
      name: 'Summer <release>',
      metadata: { imageVersion: '1.2' },
      tags: [
        { tag: 'a', locked: true },
        { tag: 'b', locked: false },
      ],
    })
  })

  it('can get a name and lose it', async () => {
    const versionId = await hub.version(owner, packageId)
    await owner.invoke('repositories_SetVersionName', { versionId, name: '😀'.repeat(128) })
    expect((await versionDetails(versionId)).name).toBe('😀'.repeat(128))
    await owner.invoke('repositories_SetVersionName', { versionId, name: '' })
    expect(await versionDetails(versionId)).not.toHaveProperty('name')
    for (const name of ['x'.repeat(129), 'a\0', 'a\tb'])
      await expect(owner.invoke('repositories_SetVersionName', { versionId, name })).rejects.toMatchObject({
        kind: 'Invalid',
      })
  })

  it('is listed newest first with its tags, and found by a part of tag, name or id', async () => {
    const one = await hub.package(owner, repositoryId, 'listed')
    const first = await hub.version(owner, one, 'v1', 'stable')
    const second = await hub.version(owner, one)
    await owner.invoke('repositories_SetVersionName', { versionId: second, name: 'Autumn' })
    const list = (text?: string) =>
      owner.invoke('repositories_QueryPackageVersions', { packageId: one, ...(text && { filter: { text } }) })
    expect((await list()).versions).toMatchObject([
      { versionId: second, name: 'Autumn', tags: [] },
      {
        versionId: first,
        tags: [
          { tag: 'stable', locked: false },
          { tag: 'v1', locked: false },
        ],
      },
    ])
    expect((await list('TABL')).versions).toMatchObject([{ versionId: first }])
    expect((await list('autu')).versions).toMatchObject([{ versionId: second }])
    expect((await list(first)).versions).toMatchObject([{ versionId: first }])
    expect((await list('%')).versions).toEqual([])
  })

  it('has each of its changes in the audit log of the repository', async () => {
    const repository = await hub.repository(owner, await hub.organization(owner))
    const one = await hub.package(owner, repository)
    const versionId = await hub.version(owner, one, 'stable')
    await owner.invoke('repositories_SetVersionName', { versionId, name: 'named' })
    await owner.invoke('repositories_SetVersionMetadata', { versionId, metadata: {} })
    await owner.invoke('repositories_UntagVersion', { versionId, tags: [{ tag: 'stable' }] })
    await owner.invoke('repositories_DeleteVersion', { versionId })
    await owner.invoke('repositories_SetPackageName', { packageId: one, name: 'renamed' })
    await owner.invoke('repositories_DeletePackage', { packageId: one })
    const { events } = await owner.invoke('repositories_QueryAuditLog', { repositoryId: repository })
    expect(events.map(({ event }) => event.replace('repositories_', '')).reverse()).toEqual([
      'Created',
      'PackageCreated',
      'PackageVersionCreated',
      'PackageVersionTagged',
      'PackageVersionNameChanged',
      'PackageVersionMetadataChanged',
      'PackageVersionUntagged',
      'PackageVersionDeleted',
      'PackageNameChanged',
      'PackageDeleted',
    ])
    expect((await auditEvents(hub, 'repositories_PackageVersionTagged')).at(-1)).toMatchObject({
      data: { repositoryId: repository, versionId, tags: ['stable'] },
      action: 'repositories_CreateVersion',
    })
  })
})
