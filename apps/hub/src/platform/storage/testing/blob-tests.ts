import { randomBytes } from 'node:crypto'
import { newId } from '@muster/actions'
import {
  auditEvents,
  digestOf,
  putBytes,
  type S3Server,
  type TestHub,
  type TestUser,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

/** Defines the tests of blobs, for the local folder or for an object store that `startStore` starts. */
export function describeBlobs(startStore?: () => Promise<S3Server>): void {
  let hub: TestHub
  let owner: TestUser
  let repositoryId: string
  let server: S3Server | undefined

  beforeAll(async () => {
    server = await startStore?.()
    hub = await testHub(server && { s3: { ...server, prefix: 'fleet/one', forcePathStyle: true } })
    owner = await hub.user()
    repositoryId = await hub.repository(owner, await hub.organization(owner), { name: 'firmware' })
  }, 120_000)
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  const create = async (bytes: Uint8Array, digest = digestOf(bytes)): Promise<string> =>
    (await owner.invoke('repositories_CreateAsset', { repositoryId, size: bytes.length, digest })).assetId
  const uploadUrl = async (assetId: string): Promise<string> =>
    (await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })).url
  const details = (assetId: string) => owner.invoke('repositories_GetAssetDetails', { assetId })
  const download = async (assetId: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(
      (await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId, filename: 'image.bin' })).url,
      {
        headers,
      },
    )
  const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer())

  it('are uploaded by older clients with one plain PUT, without headers and finalizing', async () => {
    const bytes = randomBytes(3_000_001)
    const assetId = await create(bytes)
    expect(await details(assetId)).toMatchObject({ status: 'Dangling', storage: { status: 'Unknown' } })
    await expect(owner.invoke('repositories_IssueAssetDownloadUrl', { assetId })).rejects.toMatchObject({
      kind: 'Invalid',
    })
    expect((await putBytes(await uploadUrl(assetId), bytes)).status).toBe(200)
    expect(await details(assetId)).toMatchObject({
      status: 'Available',
      size: bytes.length,
      storage: { status: 'Verified' },
    })
    const answer = await download(assetId)
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="image.bin"')
    expect(answer.headers.get('content-type')).toContain('application/octet-stream')
    expect(await bytesOf(answer)).toEqual(bytes)
    const events = await auditEvents(hub, 'repositories_AssetAvailable')
    expect(events.filter(({ data }) => (data as { assetId: string }).assetId === assetId)).toHaveLength(1)
  })

  it('may be uploaded again, as older clients do, and stay unchanged', async () => {
    const bytes = randomBytes(70_000)
    const assetId = await create(bytes)
    expect((await putBytes(await uploadUrl(assetId), bytes)).status).toBe(200)
    expect(
      await owner.invoke('repositories_CreateAsset', {
        repositoryId,
        size: bytes.length,
        digest: digestOf(bytes).replace('_', ':').toUpperCase(),
      }),
    ).toEqual({ result: 'AssetAlreadyExists', assetId })
    expect((await putBytes(await uploadUrl(assetId), bytes)).status).toBe(200)
    const wrong = await putBytes(await uploadUrl(assetId), randomBytes(70_000))
    expect(wrong.status).toBe(400)
    expect(await bytesOf(await download(assetId))).toEqual(bytes)
  })

  it('are uploaded by newer clients to the verified URL with headers, and finalized', async () => {
    const bytes = randomBytes(200_000)
    const assetId = await create(bytes)
    await expect(owner.invoke('repositories_FinalizeAssetUpload', { assetId })).rejects.toMatchObject({
      kind: 'Invalid',
      message: 'The bytes of this blob have not been uploaded.',
    })
    expect(await details(assetId)).toMatchObject({ status: 'Dangling', storage: { status: 'Missing' } })
    const issued = await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })
    const [verifiedUrl, headers] = [issued.verifiedUrl!, issued.headers!]
    expect(headers).toMatchObject({
      'x-amz-meta-nexigon-asset-id': assetId,
      'x-amz-meta-nexigon-digest': digestOf(bytes),
      'if-none-match': '*',
      'x-amz-content-sha256': digestOf(bytes).slice(7),
    })
    // Swift does not support `If-None-Match`, so verified uploads to it go through the hub. s3.test.ts tests direct uploads.
    expect(new URL(verifiedUrl).origin).toBe(new URL(hub.publicUrl).origin)
    const { 'if-none-match': _, ...fewer } = headers
    expect((await putBytes(verifiedUrl, bytes, fewer)).status).toBe(403)
    expect(
      (await putBytes(verifiedUrl, bytes, { ...headers, 'x-amz-meta-nexigon-asset-id': 'x' })).status,
    ).toBe(403)
    expect((await putBytes(verifiedUrl, bytes, headers)).status).toBe(200)
    expect((await putBytes(verifiedUrl, bytes, headers)).status).toBe(412)
    await owner.invoke('repositories_FinalizeAssetUpload', { assetId })
    await owner.invoke('repositories_FinalizeAssetUpload', { assetId })
    expect(await details(assetId)).toMatchObject({ status: 'Available', storage: { status: 'Verified' } })
    expect((await putBytes(verifiedUrl, bytes, headers)).status).toBe(412)
    expect(await bytesOf(await download(assetId))).toEqual(bytes)
  })

  it.each([
    ['sha512', 'sha512'],
    ['sha512-256', 'sha512_256'],
  ])('are compared by %s if they were registered with it', async (algorithm, name) => {
    const bytes = randomBytes(10_000)
    const assetId = await create(bytes, digestOf(bytes, algorithm))
    const wrong = await putBytes(await uploadUrl(assetId), randomBytes(10_000))
    expect([wrong.status, ((await wrong.json()) as { message: string }).message]).toEqual([
      400,
      expect.stringContaining(`expected ${name}_`),
    ])
    expect((await putBytes(await uploadUrl(assetId), bytes)).status).toBe(200)
    expect(await bytesOf(await download(assetId))).toEqual(bytes)
  })

  it('may be empty', async () => {
    const assetId = await create(Buffer.alloc(0))
    expect((await putBytes(await uploadUrl(assetId), Buffer.alloc(0))).status).toBe(200)
    expect((await bytesOf(await download(assetId))).length).toBe(0)
  })

  it('are refused with wrong bytes or a wrong size, which leaves nothing behind', async () => {
    const bytes = randomBytes(100_000)
    const assetId = await create(bytes)
    const url = await uploadUrl(assetId)
    const other = await putBytes(url, randomBytes(100_000))
    expect([other.status, await other.json()]).toEqual([
      400,
      expect.objectContaining({
        kind: 'Invalid',
        message: expect.stringContaining(`expected ${digestOf(bytes)}`),
      }),
    ])
    const shorter = await putBytes(url, bytes.subarray(1))
    expect([shorter.status, await shorter.json()]).toEqual([
      400,
      expect.objectContaining({
        message: expect.stringContaining('Content-Length: found 99999, expected 100000'),
      }),
    ])
    expect(await details(assetId)).toMatchObject({ status: 'Dangling' })
    if (server) expect(await server.object(`fleet/one/${assetId}`)).toBeUndefined()
    await expect(
      owner.invoke('repositories_CreateAsset', { repositoryId, size: 99_999, digest: digestOf(bytes) }),
    ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('expected 100000') })
  })

  it('can be uploaded several times concurrently', async () => {
    const bytes = randomBytes(2_000_000)
    const assetId = await create(bytes)
    const urls = await Promise.all([1, 2, 3].map(() => uploadUrl(assetId)))
    const answers = await Promise.all(urls.map(url => putBytes(url, bytes)))
    expect(await Promise.all(answers.map(async answer => (answer.ok ? 'kept' : answer.text())))).toEqual([
      'kept',
      'kept',
      'kept',
    ])
    expect(await bytesOf(await download(assetId))).toEqual(bytes)
  })

  it('can be downloaded in ranges, so that a download can resume', async () => {
    const bytes = randomBytes(300_000)
    const assetId = await create(bytes)
    await putBytes(await uploadUrl(assetId), bytes)
    const part = await download(assetId, { range: 'bytes=100000-199999' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 100000-199999/300000'])
    expect(await bytesOf(part)).toEqual(bytes.subarray(100_000, 200_000))
    expect(await bytesOf(await download(assetId, { range: 'bytes=-10' }))).toEqual(bytes.subarray(-10))
  })

  it('are deleted with their bytes, unless a file refers to them', async () => {
    const bytes = randomBytes(5_000)
    const assetId = await create(bytes)
    await putBytes(await uploadUrl(assetId), bytes)
    const packageId = await hub.package(owner, repositoryId, `package-${newId('u').slice(2)}`)
    const versionId = await hub.version(owner, packageId)
    await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename: 'a/b.bin' })
    expect(await details(assetId)).toMatchObject({ referenceCount: 1 })
    await expect(owner.invoke('repositories_DeleteAsset', { assetId })).rejects.toMatchObject({
      message: 'This blob is a file of versions or packages: take it out of them first.',
    })
    await owner.invoke('repositories_RemoveVersionAsset', { versionId, filename: 'a/b.bin' })
    const { url } = await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId })
    await owner.invoke('repositories_DeleteAsset', { assetId })
    await expect(details(assetId)).rejects.toMatchObject({ kind: 'Forbidden' })
    await hub.runJob('repositories_SweepBlobs', {})
    expect((await fetch(url)).status).toBe(404)
    const { length } = await hub.db.selectFrom('blob_removal').selectAll().execute()
    expect(length).toBe(0)
    // The same bytes can be uploaded again, as a new blob.
    const again = await create(bytes)
    expect((await putBytes(await uploadUrl(again), bytes)).status).toBe(200)
    expect(await bytesOf(await download(again))).toEqual(bytes)
  })

  it('are deleted with their repository', async () => {
    const other = await hub.repository(owner, await hub.organization(owner), { name: newId('u').slice(2) })
    const bytes = randomBytes(5_000)
    const input = { repositoryId: other, size: bytes.length, digest: digestOf(bytes) }
    const { assetId } = await owner.invoke('repositories_CreateAsset', input)
    await putBytes(await uploadUrl(assetId), bytes)
    const { url } = await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId })
    await owner.invoke('repositories_Delete', { repositoryId: other })
    await hub.runJob('repositories_SweepBlobs', {})
    expect((await fetch(url)).status).toBe(404)
  })

  it('are deleted when not uploaded for a day, unless a file refers to them or they are registered again', async () => {
    const again = randomBytes(7)
    const [old, used, young, late] = [
      await create(randomBytes(5_000)),
      await create(randomBytes(9)),
      await create(randomBytes(8)),
      await create(again),
    ]
    const packageId = await hub.package(owner, repositoryId, `package-${newId('u').slice(2)}`)
    const versionId = await hub.version(owner, packageId)
    await owner.invoke('repositories_AddVersionAsset', { versionId, assetId: used, filename: 'later.bin' })
    await hub.db
      .updateTable('asset')
      .set({ created_at: new Date(Date.now() - 25 * 60 * 60 * 1000) })
      .where('asset_id', 'in', [old, used, late])
      .execute()
    expect(await create(again)).toBe(late)
    await hub.runJob('repositories_SweepBlobs', {})
    await expect(details(old)).rejects.toMatchObject({ kind: 'Forbidden' })
    expect(await details(used)).toMatchObject({ status: 'Dangling' })
    expect(await details(young)).toMatchObject({ status: 'Dangling' })
    expect((await putBytes(await uploadUrl(late), again)).status).toBe(200)
  })
}
