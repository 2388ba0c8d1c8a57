import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  auditEvents,
  auditRows,
  capturedLog,
  digestOf,
  type FakeS3,
  fakeS3,
  putBytes,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

let hub: TestHub
let owner: TestUser
let organizationId: string
let store: FakeS3
const captured = capturedLog('trace')

beforeAll(async () => {
  hub = await testHub({ outboundAllow: ['127.0.0.1'] }, captured.log)
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  store = await fakeS3()
  // Each test needs a new person, because the hub probes object stores for a person only 10 times an hour.
  owner = await hub.user()
  organizationId = await hub.organization(owner)
  return () => store[Symbol.asyncDispose]()
})

/** Creates a repository that keeps its blobs in the fake store. */
async function repository(settings: object = {}): Promise<string> {
  const repositoryId = await hub.repository(owner, organizationId)
  await owner.invoke('repositories_SetS3Config', {
    repositoryId,
    s3Config: { ...configOf(store), ...settings },
  })
  return repositoryId
}
const configOf = ({ endpoint, bucket, accessKeyId, secretAccessKey }: FakeS3) => ({
  endpoint,
  bucket,
  accessKeyId,
  secretAccessKey,
})
const create = async (repositoryId: string, bytes: Uint8Array): Promise<string> =>
  (
    await owner.invoke('repositories_CreateAsset', {
      repositoryId,
      size: bytes.length,
      digest: digestOf(bytes),
    })
  ).assetId
const issue = async (assetId: string) => {
  const { url, verifiedUrl, headers } = await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })
  return { url, verifiedUrl: verifiedUrl!, headers: headers! }
}
const details = (assetId: string) => owner.invoke('repositories_GetAssetDetails', { assetId })
const finalize = (assetId: string) => owner.invoke('repositories_FinalizeAssetUpload', { assetId })
const statusAndMessage = async (response: Response): Promise<[number, string]> => [
  response.status,
  ((await response.json()) as { message: string }).message,
]

describe('object store of a repository', () => {
  it('C33: is stored without a test on request, and tested by the first upload', async () => {
    const repositoryId = await hub.repository(owner, organizationId)
    const s3Config = { ...configOf(store), secretAccessKey: 'guessed' }
    await owner.invoke('repositories_SetS3Config', { repositoryId, s3Config, skipTest: true })
    const { s3Config: saved } = await owner.invoke('repositories_GetS3Config', { repositoryId })
    expect(saved).toMatchObject({ endpoint: store.endpoint, bucket: store.bucket })
    expect(store.requests).toHaveLength(0)
    const assetId = await create(repositoryId, Buffer.from('firmware'))
    await expect(issue(assetId)).rejects.toMatchObject({ kind: 'Internal' })
  })

  it('is not set by a member who was removed during the probe', async () => {
    const member = await hub.user()
    const ofBoth = await hub.organization(owner, [member])
    const repositoryId = await hub.repository(owner, ofBoth)
    const removed = Promise.withResolvers<void>()
    store.misbehave({ does: 'hesitates', until: removed.promise })
    const setting = member
      .invoke('repositories_SetS3Config', { repositoryId, s3Config: configOf(store) })
      .catch((error: { kind: string }) => error.kind)
    await until('the probe of the store', () => store.requests.length > 0)
    await owner.invoke('organizations_RemoveMember', { organizationId: ofBoth, userId: member.userId })
    removed.resolve()
    expect(await setting).toBe('Forbidden')
    const { s3Endpoint } = await owner.invoke('repositories_GetS3Config', { repositoryId })
    expect(s3Endpoint).toBeUndefined()
  })

  it('receives verified uploads and serves downloads directly, not through the hub', async () => {
    const assetId = await create(await repository({ prefix: '/releases//2026/' }), Buffer.from('firmware'))
    const { verifiedUrl, headers } = await issue(assetId)
    expect(new URL(verifiedUrl).origin).toBe(store.endpoint)
    expect((await putBytes(verifiedUrl, Buffer.from('otherwise'), headers)).status).toBe(400)
    expect((await putBytes(verifiedUrl, Buffer.from('firmware'), headers)).status).toBe(200)
    expect((await putBytes(verifiedUrl, Buffer.from('firmware'), headers)).status).toBe(412)
    expect([...store.objects.keys()]).toEqual([`releases/2026/${assetId}`])
    await finalize(assetId)
    expect(await details(assetId)).toMatchObject({ status: 'Available', storage: { status: 'Verified' } })
    const { url } = await owner.invoke('repositories_IssueAssetDownloadUrl', {
      assetId,
      filename: 'a"b\r\nx: ü',
    })
    expect(new URL(url).origin).toBe(store.endpoint)
    const answer = await fetch(url)
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="a_b__x: _"; filename\*=/,
    )
    expect(await answer.text()).toBe('firmware')
  })

  it('is retried while it is busy, and after a truncated body', async () => {
    const assetId = await create(await repository(), Buffer.from('firmware'))
    const { verifiedUrl, headers } = await issue(assetId)
    await putBytes(verifiedUrl, Buffer.from('firmware'), headers)
    store.misbehave({ method: 'HEAD', does: 'answers', status: 503, code: 'SlowDown', times: 2 })
    await finalize(assetId)
    const other = await create(await repository(), Buffer.from('other firmware'))
    const again = await issue(other)
    await putBytes(again.verifiedUrl, Buffer.from('other firmware'), again.headers)
    store.misbehave({ method: 'GET', does: 'cuts', times: 2 })
    await finalize(other)
    expect(await details(other)).toMatchObject({ status: 'Available' })
  })

  it('gets an upload again while it is busy, and is asked for the bytes if it fails after it got them', async () => {
    for (const fault of [
      { does: 'answers', status: 503, code: 'SlowDown', times: 2 },
      { does: 'stores-and-fails', times: 1 },
    ] as const) {
      const bytes = randomBytes(200_000)
      const assetId = await create(await repository(), bytes)
      store.misbehave({ method: 'PUT', ...fault })
      expect((await putBytes((await issue(assetId)).url, bytes)).status).toBe(200)
      expect(await details(assetId)).toMatchObject({ status: 'Available' })
      expect(store.objects.get(assetId)).toEqual(bytes)
    }
  })

  it('may answer before it reads an upload because it has a newer object, which is checked instead', async () => {
    const bytes = randomBytes(200_000)
    const assetId = await create(await repository(), bytes)
    const { url } = await issue(assetId)
    store.misbehave({ method: 'PUT', does: 'has-newer', until: Promise.resolve() })
    expect(await statusAndMessage(await putBytes(url, bytes))).toEqual([
      502,
      expect.stringContaining('no such bucket or object'),
    ])
    store.objects.set(assetId, randomBytes(200_000))
    expect(await statusAndMessage(await putBytes(url, bytes))).toEqual([
      502,
      expect.stringContaining('does not keep what it is sent'),
    ])
    expect(await details(assetId)).toMatchObject({ status: 'Dangling' })
    store.objects.set(assetId, bytes)
    expect(await statusAndMessage(await putBytes(url, randomBytes(200_000)))).toEqual([
      400,
      expect.stringContaining(`expected ${digestOf(bytes)}`),
    ])
    expect((await putBytes(url, bytes)).status).toBe(200)
    expect(await details(assetId)).toMatchObject({ status: 'Available' })
  })

  it('may do so when the hub has already begun to send the upload', async () => {
    const bytes = randomBytes(20_000_000)
    const assetId = await create(await repository(), bytes)
    const { url } = await issue(assetId)
    store.objects.set(assetId, bytes)
    // The hub waits 2 s for `100 Continue`.
    store.misbehave({ method: 'PUT', does: 'has-newer', until: sleep(3_000) })
    expect((await putBytes(url, bytes)).status).toBe(200)
    expect(await details(assetId)).toMatchObject({ status: 'Available' })
  })

  it('makes no blob available if it changes bytes, with both kinds of upload', async () => {
    const repositoryId = await repository()
    const bytes = randomBytes(200_000)
    const assetId = await create(repositoryId, bytes)
    const { url, verifiedUrl, headers } = await issue(assetId)
    store.misbehave({ method: 'PUT', does: 'spoils' })
    expect(await statusAndMessage(await putBytes(url, bytes))).toEqual([
      502,
      expect.stringContaining('does not keep what it is sent'),
    ])
    expect(store.objects.size).toBe(0)
    await putBytes(verifiedUrl, bytes, headers)
    await expect(finalize(assetId)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining(`expected ${digestOf(bytes)}`),
    })
    expect(await details(assetId)).toMatchObject({ status: 'Dangling', storage: { status: 'Mismatched' } })
    // The wrong bytes were removed, so that the right bytes can be uploaded.
    store.behave()
    expect((await putBytes(verifiedUrl, bytes, headers)).status).toBe(200)
    await finalize(assetId)
    expect(store.objects.get(assetId)).toEqual(bytes)
  })

  it('is reported as failed if it does not remove wrong bytes', async () => {
    const assetId = await create(await repository(), Buffer.from('firmware'))
    const { verifiedUrl, headers } = await issue(assetId)
    store.misbehave({ method: 'PUT', does: 'spoils' })
    await putBytes(verifiedUrl, Buffer.from('firmware'), headers)
    store.misbehave({ method: 'DELETE', does: 'answers', status: 500 })
    await expect(finalize(assetId)).rejects.toMatchObject({
      status: 502,
      message: expect.stringContaining('The object storage failed: it is not able to answer'),
    })
    expect(await details(assetId)).toMatchObject({ status: 'Dangling', storage: { status: 'Mismatched' } })
  })

  it.each([
    [
      'is busy',
      { does: 'answers', status: 503, code: 'SlowDown' },
      502,
      'not able to answer at the moment (503 SlowDown)',
    ],
    [
      'lost its bucket',
      { does: 'answers', status: 404, code: 'NoSuchBucket' },
      502,
      'there is no bucket artifacts',
    ],
    [
      'revoked the keys',
      { does: 'answers', status: 403, code: 'AccessDenied' },
      502,
      'the keys may not do this',
    ],
  ] as const)(
    'fails an upload with a clear error and without a blob if it %s',
    async (_what, mischief, status, message) => {
      const bytes = randomBytes(3_000_000)
      const assetId = await create(await repository(), bytes)
      const { url } = await issue(assetId)
      store.misbehave({ method: 'PUT', ...mischief })
      expect(await statusAndMessage(await putBytes(url, bytes))).toEqual([
        status,
        expect.stringContaining(message),
      ])
      expect(await details(assetId)).toMatchObject({ status: 'Dangling' })
      store.behave()
      expect((await putBytes(url, bytes)).status).toBe(200)
    },
  )

  it('keeps a verified object, whatever is uploaded for it later', async () => {
    const bytes = randomBytes(50_000)
    const assetId = await create(await repository(), bytes)
    const { url } = await issue(assetId)
    expect((await putBytes(url, bytes)).status).toBe(200)
    store.misbehave({ method: 'PUT', does: 'spoils' })
    expect((await putBytes(url, bytes)).status).toBe(200)
    expect((await putBytes(url, randomBytes(50_000))).status).toBe(400)
    expect(store.objects.get(assetId)).toEqual(bytes)
  })

  it('has no object after an upload that broke off or had wrong bytes', async () => {
    const bytes = randomBytes(3_000_000)
    const assetId = await create(await repository(), bytes)
    const { url } = await issue(assetId)
    captured.lines.length = 0
    expect((await putBytes(url, randomBytes(3_000_000))).status).toBe(400)
    const cut = new AbortController()
    const half = new ReadableStream({
      start: controller => controller.enqueue(bytes.subarray(0, 1_000_000)),
    })
    const upload = fetch(url, {
      method: 'PUT',
      body: half,
      duplex: 'half',
      headers: { 'content-length': String(bytes.length) },
      signal: cut.signal,
    } as RequestInit)
    setTimeout(() => cut.abort(), 200)
    await expect(upload).rejects.toThrow()
    expect(store.objects.size).toBe(0)
    expect((await putBytes(url, bytes)).status).toBe(200)
    // A disconnect of the client is not logged as an error.
    expect(captured.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('keeps its blobs when the repository gets another store, until they are deleted', async () => {
    const repositoryId = await repository()
    const assetId = await create(repositoryId, Buffer.from('old'))
    await putBytes((await issue(assetId)).url, Buffer.from('old'))
    await using other = await fakeS3({ bucket: 'other' })
    await owner.invoke('repositories_SetS3Config', { repositoryId, s3Config: configOf(other) })
    const newer = await create(repositoryId, Buffer.from('new'))
    await putBytes((await issue(newer)).url, Buffer.from('new'))
    expect([[...store.objects.keys()], [...other.objects.keys()]]).toEqual([[assetId], [newer]])
    const { url } = await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId })
    expect(await (await fetch(url)).text()).toBe('old')

    // The first store fails when the repository is deleted. Its removals are retried later.
    store.misbehave({ method: 'DELETE', does: 'answers', status: 500 })
    await owner.invoke('repositories_Delete', { repositoryId })
    await hub.runJob('repositories_SweepBlobs', {})
    expect([store.objects.size, other.objects.size]).toEqual([1, 0])
    const [waiting] = await hub.db.selectFrom('blob_removal').selectAll().execute()
    expect(waiting).toMatchObject({ asset_id: assetId, attempts: 1 })
    expect(waiting!.not_before.getTime()).toBeGreaterThan(Date.now())
    store.behave()
    await hub.db.updateTable('blob_removal').set({ not_before: new Date() }).execute()
    await hub.runJob('repositories_SweepBlobs', {})
    expect(store.objects.size).toBe(0)
    const stores = await hub.db
      .selectFrom('object_store')
      .where('endpoint', 'in', [store.endpoint, other.endpoint])
      .selectAll()
      .execute()
    expect(stores).toEqual([])
  })

  it('can be replaced by the storage of the hub, while its blobs are still read from it', async () => {
    const repositoryId = await repository()
    const assetId = await create(repositoryId, Buffer.from('firmware'))
    const { verifiedUrl, headers } = await issue(assetId)
    await putBytes(verifiedUrl, Buffer.from('firmware'), headers)
    await finalize(assetId)

    await owner.invoke('repositories_RemoveS3Config', { repositoryId })
    await owner.invoke('repositories_RemoveS3Config', { repositoryId })
    expect(await owner.invoke('repositories_GetS3Config', { repositoryId })).toEqual({
      s3Config: { endpoint: '', bucket: '', accessKeyId: '' },
    })
    const later = await create(repositoryId, Buffer.from('later firmware'))
    const { url: uploadUrl } = await issue(later)
    expect(new URL(uploadUrl).origin).toBe(hub.publicUrl)
    expect((await putBytes(uploadUrl, Buffer.from('later firmware'))).status).toBe(200)
    expect([...store.objects.keys()].some(key => key.includes(later))).toBe(false)
    for (const [id, bytes] of [
      [assetId, 'firmware'],
      [later, 'later firmware'],
    ] as const) {
      const { url } = await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId: id, filename: 'x' })
      expect(await (await fetch(url)).text()).toBe(bytes)
    }
    const { events } = await owner.invoke('repositories_QueryAuditLog', { repositoryId })
    expect(events.filter(({ event }) => event === 'repositories_S3ConfigChanged')).toHaveLength(2)
  })

  it('does not block removals elsewhere if its error code contains NUL', async () => {
    const repositoryId = await repository()
    const theirs = await create(repositoryId, Buffer.from('theirs'))
    await putBytes((await issue(theirs)).url, Buffer.from('theirs'))
    const local = await hub.repository(owner, organizationId)
    const ours = await create(local, Buffer.from('ours'))
    await putBytes((await issue(ours)).url, Buffer.from('ours'))
    store.misbehave({ method: 'DELETE', does: 'answers', status: 400, code: 'a\0b' })
    for (const assetId of [theirs, ours]) await owner.invoke('repositories_DeleteAsset', { assetId })
    expect(await hub.runJob('repositories_SweepBlobs', {})).toMatchObject({ status: 'Completed' })
    const waiting = await hub.db.selectFrom('blob_removal').select(['asset_id', 'detail']).execute()
    expect(waiting).toEqual([{ asset_id: theirs, detail: 'it refuses (400).' }])
    await hub.db.deleteFrom('blob_removal').execute()
  })

  it('is cut off if it sends a body without end', async () => {
    const assetId = await create(await repository(), Buffer.from('firmware'))
    const { verifiedUrl, headers } = await issue(assetId)
    await putBytes(verifiedUrl, Buffer.from('firmware'), headers)
    store.misbehave({ method: 'GET', does: 'streams-forever' })
    await expect(finalize(assetId)).rejects.toMatchObject({
      kind: 'Invalid',
      message: 'Found more than 8 bytes.',
    })
    expect(store.sentBytes()).toBeLessThan(16 * 1024 * 1024)
    expect(await details(assetId)).toMatchObject({ status: 'Dangling', storage: { status: 'Mismatched' } })
  })

  it('keeps right bytes that were uploaded during a check of wrong ones', async () => {
    const bytes = randomBytes(1_000)
    const repositoryId = await repository()
    const input = { repositoryId, size: bytes.length, digest: digestOf(bytes, 'sha512') }
    const { assetId } = await owner.invoke('repositories_CreateAsset', input)
    const { url, verifiedUrl, headers } = await issue(assetId)
    // A store cannot check a SHA-512 digest, so it accepts the wrong bytes.
    expect((await putBytes(verifiedUrl, randomBytes(1_000), headers)).status).toBe(200)
    const { promise, resolve } = Promise.withResolvers<void>()
    store.misbehave({ method: 'GET', does: 'waits', for: promise, times: 1 })
    const looked = finalize(assetId)
    await until('the check of the object', () => store.requests.includes(`GET ${assetId}`))
    expect((await putBytes(url, bytes)).status).toBe(200)
    resolve()
    await expect(looked).rejects.toMatchObject({ kind: 'Invalid' })
    expect(store.objects.get(assetId)).toEqual(bytes)
    expect(await details(assetId)).toMatchObject({ status: 'Available', storage: { status: 'Verified' } })
  })

  it('receives uploads with keys that may not list the bucket', async () => {
    const repositoryId = await repository()
    const assetId = await create(repositoryId, Buffer.from('firmware'))
    store.misbehave({ method: 'HEAD', does: 'answers', status: 403 })
    expect((await putBytes((await issue(assetId)).url, Buffer.from('firmware'))).status).toBe(200)
  })

  it('has its bucket in the path if its host is an IP address', async () => {
    const assetId = await create(await repository({ forcePathStyle: false }), Buffer.from('firmware'))
    expect((await putBytes((await issue(assetId)).url, Buffer.from('firmware'))).status).toBe(200)
    const { url } = await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId })
    expect(await (await fetch(url)).text()).toBe('firmware')
  })

  it('gets a stalled upload aborted with 408', async () => {
    const assetId = await create(await repository(), randomBytes(100_000))
    const { pathname, search } = new URL((await issue(assetId)).url)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const socket = connect(hub.address.port, '127.0.0.1')
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: hub\r\nContent-Length: 100000\r\n\r\n`)
      socket.write(randomBytes(50_000))
      await until('the upload has begun', () => store.requests.includes(`PUT ${assetId}`))
      const answer = text(socket)
      await until('the end of the upload', () => {
        vi.advanceTimersByTime(60_000)
        return socket.readableEnded
      })
      expect(await answer).toMatch(/^HTTP\/1.1 408 [\s\S]*The upload took too long/)
    } finally {
      vi.useRealTimers()
    }
  })

  it('receives no upload of a blob that was registered again after its replacement', async () => {
    const repositoryId = await repository()
    const assetId = await create(repositoryId, Buffer.from('late'))
    const early = await issue(assetId)
    await using other = await fakeS3()
    await owner.invoke('repositories_SetS3Config', { repositoryId, s3Config: configOf(other) })
    expect(await create(repositoryId, Buffer.from('late'))).toBe(assetId)
    expect((await putBytes(early.url, Buffer.from('late'))).status).toBe(200)
    expect([store.objects.size, other.objects.size]).toEqual([0, 1])
  })

  it('makes no blob available if it is replaced during the upload', async () => {
    const repositoryId = await repository()
    const bytes = randomBytes(100_000)
    const assetId = await create(repositoryId, bytes)
    const { pathname, search } = new URL((await issue(assetId)).url)
    const socket = connect(hub.address.port, '127.0.0.1')
    socket.write(
      `PUT ${pathname}${search} HTTP/1.1\r\nHost: hub\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n`,
    )
    socket.write(bytes.subarray(0, 50_000))
    await until('the upload has begun', () => store.requests.includes(`PUT ${assetId}`))
    await using other = await fakeS3()
    await owner.invoke('repositories_SetS3Config', { repositoryId, s3Config: configOf(other) })
    expect(await create(repositoryId, bytes)).toBe(assetId)
    socket.write(bytes.subarray(50_000))
    expect(await text(socket)).toMatch(/^HTTP\/1.1 409 [\s\S]*lies in another place by now/)
    expect(await details(assetId)).toMatchObject({ status: 'Dangling' })
    // Bytes of the aborted upload are removed, even after the repository returned to this store.
    await owner.invoke('repositories_SetS3Config', { repositoryId, s3Config: configOf(store) })
    await create(repositoryId, bytes)
    expect((await putBytes((await issue(assetId)).url, bytes)).status).toBe(200)
    await hub.db.updateTable('blob_removal').set({ not_before: new Date() }).execute()
    await hub.runJob('repositories_SweepBlobs', {})
    expect([...store.objects.values()]).toEqual([bytes])
    const { url } = await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId })
    expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(bytes)
  })
})

describe('new settings of an object store', () => {
  const set = async (settings: object): Promise<unknown> => {
    const repositoryId = await hub.repository(owner, organizationId)
    const s3Config = { ...configOf(store), ...settings }
    return owner.invoke('repositories_SetS3Config', { repositoryId, s3Config }).then(
      () => 'stored',
      async (error: { kind: string; message: string }) => {
        const { s3Config: now } = await owner.invoke('repositories_GetS3Config', { repositoryId })
        expect([error.kind, now]).toEqual(['Invalid', { endpoint: '', bucket: '', accessKeyId: '' }])
        return error.message
      },
    )
  }

  it.each([
    [
      'an access key id that is unknown',
      { accessKeyId: 'AKIANOBODY' },
      'does not know the access key id AKIANOBODY',
    ],
    ['a wrong secret', { secretAccessKey: 'guessed' }, 'the secret access key is wrong for AKIATEST'],
    [
      'a wrong region',
      { region: 'eu-central-1' },
      'the region eu-central-1 is wrong, the bucket is in us-east-1',
    ],
    ['an unknown bucket', { bucket: 'elsewhere' }, 'there is no bucket elsewhere'],
    ['an unknown host', { endpoint: 'http://nowhere.invalid' }, 'not a public address'],
    ['a port without a listener', { endpoint: 'http://127.0.0.1:9' }, 'nothing listens at 127.0.0.1:9'],
    ['an address that is not allowed', { endpoint: 'http://10.1.2.3' }, 'not a public address'],
  ])('are refused with a clear message for %s', async (_what, settings, message) => {
    expect(await set(settings)).toContain(message)
  })

  it.each([
    [
      'no TLS behind https',
      () => ({ endpoint: store.endpoint.replace('http:', 'https:') }),
      undefined,
      'does not speak TLS as expected',
    ],
    [
      'a different clock',
      () => ({}),
      { does: 'answers', status: 403, code: 'RequestTimeTooSkewed' },
      "its clock and the hub's differ too much",
    ],
    [
      'a redirect',
      () => ({}),
      { does: 'answers', status: 307, headers: { location: 'http://127.0.0.1:1/' } },
      'it redirects elsewhere, which the hub does not follow',
    ],
    [
      'truncated responses',
      () => ({}),
      { method: 'GET', does: 'cuts' },
      'The object storage cannot be used: the store broke the connection',
    ],
    [
      'changed bytes',
      () => ({}),
      { method: 'PUT', does: 'spoils' },
      'it returned other bytes than were written',
    ],
  ] as const)('are refused with a clear message for %s', async (_what, settings, mischief, message) => {
    if (mischief) store.misbehave(mischief)
    expect(await set(settings())).toContain(message)
    // The probe has removed its object.
    expect([...store.objects.keys()]).toEqual([])
  })

  it('are refused for a store that does not answer', async () => {
    store.misbehave({ does: 'hangs' })
    // Shortens the hub's deadline from 20 s to 500 ms.
    const deadline = AbortSignal.timeout.bind(AbortSignal)
    using deadlines = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation(ms => deadline(ms === 20_000 ? 500 : ms))
    expect(await set({})).toContain('does not answer in time')
    expect(deadlines).toHaveBeenCalledWith(20_000)
  })

  it.each(['../up', 'a/../b', './a', 'a\\b', 'a\r\nx-evil: 1', 'a\0b'])(
    'are refused with the prefix %j',
    async prefix => {
      await expect(repository({ prefix })).rejects.toMatchObject({ kind: 'Invalid' })
      expect(store.requests).toEqual([])
    },
  )

  it('keep the stored secret only for the same endpoint and key id', async () => {
    const repositoryId = await repository()
    const { secretAccessKey: _, ...rest } = configOf(store)
    await owner.invoke('repositories_SetS3Config', { repositoryId, s3Config: { ...rest, prefix: 'x' } })
    await owner.invoke('repositories_SetS3Config', {
      repositoryId,
      s3Endpoint: rest.endpoint,
      s3Bucket: rest.bucket,
      s3AccessKeyId: rest.accessKeyId,
      s3SecretAccessKey: '',
      s3Prefix: 'y',
    })
    expect(await owner.invoke('repositories_GetS3Config', { repositoryId })).toEqual({
      s3Endpoint: rest.endpoint,
      s3Bucket: rest.bucket,
      s3Prefix: 'y',
      s3AccessKeyId: rest.accessKeyId,
      s3Config: { ...rest, prefix: 'y', forcePathStyle: true },
    })
    await using other = await fakeS3()
    await expect(
      owner.invoke('repositories_SetS3Config', {
        repositoryId,
        s3Config: { ...rest, endpoint: other.endpoint },
      }),
    ).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('expected the secret, because'),
    })
    expect(other.requests).toEqual([])
  })

  it('never show their secret in logs, the audit log or answers', async () => {
    const repositoryId = await repository()
    const planted = store.secretAccessKey
    const all = JSON.stringify([
      await owner.invoke('repositories_GetS3Config', { repositoryId }),
      await owner.invoke('repositories_QueryAuditLog', { repositoryId }),
      await auditRows(hub),
      await auditEvents(hub),
      captured.lines,
    ])
    expect(all).not.toContain(planted)
    const rows = await hub.db.selectFrom('object_store').selectAll().execute()
    expect(rows.length).toBeGreaterThan(0)
    expect(Buffer.from(JSON.stringify(rows)).includes(planted)).toBe(false)
    for (const row of rows) expect(row.secret_access_key.includes(planted)).toBe(false)
    expect((await auditEvents(hub, 'repositories_S3ConfigChanged')).at(-1)).toMatchObject({
      data: { repositoryId },
    })
  })

  it('can lead to public addresses only', { timeout: 60_000 }, async () => {
    let connections = 0
    const listener = createServer(socket => {
      connections++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as { port: number }
    await using closed = await testHub()
    // Each person may probe 10 object stores an hour.
    const people = await Promise.all(Array.from({ length: 3 }, () => closed.user()))
    const repositoryId = await closed.repository(
      people[0]!,
      await closed.organization(people[0]!, people.slice(1)),
    )
    let probes = 0
    const set = (s3Config: ReturnType<typeof configOf>): Promise<unknown> =>
      people[Math.floor(probes++ / 10)]!.invoke('repositories_SetS3Config', { repositoryId, s3Config })
    const hosts = [
      '127.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      'localhost',
      '0.0.0.0',
      '[::]',
      '169.254.169.254',
      '[fd00:ec2::254]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '100.64.0.1',
      '10.0.0.1',
      '192.168.1.1',
      '172.31.0.1',
      // S33: the address under which Azure serves a virtual machine's settings.
      '168.63.129.16',
      '[::ffff:168.63.129.16]',
    ]
    for (const host of hosts) {
      await expect(
        set({ ...configOf(store), endpoint: `http://${host}:${port}` }),
        host,
      ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('not a public address') })
    }
    for (const endpoint of [
      'file:///etc/passwd',
      'gopher://127.0.0.1:70/',
      'http://user:pw@127.0.0.1/',
      'http://127.0.0.1/?x=1',
    ])
      await expect(set({ ...configOf(store), endpoint })).rejects.toMatchObject({ kind: 'Invalid' })
    expect(connections).toBe(0)
    listener.close()
  })
})

describe('repositories_TestS3Config', () => {
  let tester: TestUser
  let repositoryId: string

  beforeEach(async () => {
    // Each test of this suite needs a new person, because the hub lets a person test object stores only 10 times an hour.
    tester = await hub.user()
    repositoryId = await hub.repository(tester, await hub.organization(tester))
  })

  function test(settings: object = {}) {
    return tester.invoke('repositories_TestS3Config', {
      repositoryId,
      s3Endpoint: store.endpoint,
      s3Bucket: store.bucket,
      s3Region: store.region,
      s3Prefix: 'muster/',
      s3AccessKeyId: store.accessKeyId,
      s3SecretAccessKey: store.secretAccessKey,
      ...settings,
    })
  }

  it('passes five steps, leaves no object and saves nothing', async () => {
    const { result, steps, ...others } = await test()
    expect(result).toBe('Passed')
    expect(steps.map(({ step, isPassed }) => [step, isPassed])).toEqual([
      ['Reach the endpoint', true],
      ['Sign in', true],
      ['Write an object', true],
      ['Read it back', true],
      ['Delete it', true],
    ])
    expect(steps.every(({ durationMs }) => durationMs !== undefined)).toBe(true)
    expect(others).toEqual({})
    expect(store.objects.size).toBe(0)
    expect(await tester.invoke('repositories_GetS3Config', { repositoryId })).not.toHaveProperty('s3Endpoint')
    expect(await auditEvents(hub, 'repositories_S3ConfigChanged')).not.toContainEqual(
      expect.objectContaining({ data: { repositoryId } }),
    )
  })

  it.each([
    [
      'a wrong key id',
      { s3AccessKeyId: 'AKIAOTHER' },
      2,
      /does not know the access key id/,
      /Enter an access key id/,
    ],
    [
      'a wrong secret',
      { s3SecretAccessKey: 'wrong' },
      2,
      /secret access key is wrong/,
      /belongs to AKIATEST/,
    ],
    ['a wrong region', { s3Region: 'eu-north-1' }, 2, /the bucket is in us-east-1/, /region of the bucket/],
    ['an absent bucket', { s3Bucket: 'nothing' }, 3, /no bucket nothing/, /Create the bucket nothing/],
    ['a closed port', { s3Endpoint: 'http://127.0.0.1:9' }, 1, /nothing listens/i, /host name and the port/],
  ])('stops at the first failure and says what to change: %s', async (_, settings, count, detail, advice) => {
    const tested = await test(settings)
    expect(tested.result).toBe('Failed')
    expect(tested.steps).toHaveLength(count)
    expect(tested.steps.slice(0, -1).every(({ isPassed }) => isPassed)).toBe(true)
    expect(tested.steps.at(-1)).toMatchObject({ isPassed: false, detail: expect.stringMatching(detail) })
    expect(tested).toMatchObject({ advice: expect.stringMatching(advice) })
    expect(store.objects.size).toBe(0)
  })

  it.each([
    ['write', { method: 'PUT', does: 'answers', status: 403, code: 'AccessDenied' }, 3, /s3:PutObject/],
    [
      'delete',
      { method: 'DELETE', does: 'answers', status: 403, code: 'AccessDenied' },
      5,
      /s3:DeleteObject/,
    ],
    ['keep bytes', { method: 'PUT', does: 'spoils' }, 4, /keeps what it is sent/],
  ] as const)('fails where a store or its key cannot %s', async (_, fault, count, advice) => {
    store.misbehave(fault)
    const tested = await test()
    expect(tested.steps).toHaveLength(count)
    expect(tested).toMatchObject({ advice: expect.stringMatching(advice) })
  })

  it('S16: refuses an endpoint that is not allowed at the first step, with one text and no time', async () => {
    const details: string[] = []
    for (const s3Endpoint of ['http://10.0.0.1:9000', 'http://no-such-host.invalid']) {
      const { result, steps, ...others } = await test({ s3Endpoint })
      expect(result).toBe('Failed')
      expect(steps).toHaveLength(1)
      expect(steps[0]).not.toHaveProperty('durationMs')
      expect(others).toEqual({})
      details.push(steps[0]!.detail)
    }
    expect(new Set(details).size).toBe(1)
    expect(details[0]).toContain('MUSTER_OUTBOUND_ALLOW')
  })

  it('needs the secret, and is limited to 10 an hour and person', async () => {
    await expect(test({ s3SecretAccessKey: '' })).rejects.toMatchObject({ kind: 'Invalid' })
    const failures: unknown[] = []
    for (let n = 0; n < 11; n++)
      await test({ s3Endpoint: 'http://10.0.0.1:9000' }).catch(error => failures.push(error))
    expect(failures.at(-1)).toMatchObject({ kind: 'RateLimited' })
    expect(failures.length).toBeLessThanOrEqual(2)
  })

  it('S33: shares its limit with the setting of a store, which probes it too', async () => {
    const s3Config = { ...configOf(store), endpoint: 'http://10.0.0.1:9000' }
    const kinds: string[] = []
    for (let n = 0; n < 6; n++) {
      await test({ s3Endpoint: 'http://10.0.0.1:9000' }).catch((error: { kind: string }) =>
        kinds.push(error.kind),
      )
      await tester
        .invoke('repositories_SetS3Config', { repositoryId, s3Config })
        .catch((error: { kind: string }) => kinds.push(error.kind))
    }
    // Of twelve calls, the first five settings are refused for their address, and both calls after the tenth by the limit.
    expect(kinds).toEqual([...Array(5).fill('Invalid'), 'RateLimited', 'RateLimited'])
    expect(store.requests).toEqual([])
  })
})
