import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { newId } from '@muster/actions'
import {
  ask,
  digestOf,
  heldDuring,
  liveStream,
  putBytes,
  smallDisk,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

let hub: TestHub
let owner: TestUser
let organizationId: string
let repositoryId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  organizationId = await hub.organization(owner)
  repositoryId = await hub.repository(owner, organizationId, { name: 'firmware' })
})
afterAll(() => hub[Symbol.asyncDispose]())

const create = async (bytes: Uint8Array): Promise<string> =>
  (
    await owner.invoke('repositories_CreateAsset', {
      repositoryId,
      size: bytes.length,
      digest: digestOf(bytes),
    })
  ).assetId
const uploadUrl = async (assetId: string): Promise<string> =>
  (await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })).url
const uploaded = async (bytes: Uint8Array): Promise<string> => {
  const assetId = await create(bytes)
  expect((await putBytes(await uploadUrl(assetId), bytes)).status).toBe(200)
  return assetId
}
const downloadUrl = async (assetId: string, filename?: string): Promise<string> =>
  (await owner.invoke('repositories_IssueAssetDownloadUrl', { assetId, filename })).url
const statusOf = async (assetId: string): Promise<string> =>
  (await owner.invoke('repositories_GetAssetDetails', { assetId })).status
const incoming = async (): Promise<string[]> => readdir(join(hub.dataDir, 'blobs/incoming')).catch(() => [])

/** Sends a PUT with raw headers and returns the status line of the response. */
async function rawAnswer(url: string, head: string[], body: Uint8Array = Buffer.alloc(0)): Promise<string> {
  const { pathname, search } = new URL(url)
  const socket = connect(hub.address.port, '127.0.0.1')
  const lines = ['Host: hub', 'Connection: close', ...head]
  socket.write(`PUT ${pathname}${search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  const answer = await text(socket)
  return answer.slice(0, answer.indexOf('\r\n'))
}

describe('an upload', () => {
  it.each([2 ** 53, '9007199254740993', '18446744073709551615'])(
    'of %s bytes is refused when the asset is registered',
    async size => {
      const input = { repositoryId, size: size as number, digest: digestOf(randomBytes(8)) }
      await expect(owner.invoke('repositories_CreateAsset', input)).rejects.toMatchObject({ kind: 'Invalid' })
    },
  )

  it('refreshes the open log of the repository', async () => {
    const bytes = randomBytes(10)
    const url = await uploadUrl(await create(bytes))
    await using console = await liveStream(hub, owner)
    await putBytes(url, bytes)
    await until('the console is notified', () => console.changes.length > 0)
    expect(console.changes).toEqual([
      { topic: 'log', organizationId, repositoryId },
      { topic: 'packages', organizationId, repositoryId },
    ])
  })

  it('without a valid Content-Length is refused before its body is read', async () => {
    const url = await uploadUrl(await create(randomBytes(10)))
    expect(await rawAnswer(url, ['Transfer-Encoding: chunked'], Buffer.from('a\r\n'))).toContain(' 411 ')
    expect(await rawAnswer(url, ['Content-Length: 10', 'Content-Encoding: gzip'])).toContain(' 415 ')
    expect(await rawAnswer(url, ['Content-Length: 99999999999'])).toContain(' 400 ')
  })

  it('that is cut off leaves no file', async () => {
    const bytes = randomBytes(1_000_000)
    const assetId = await create(bytes)
    const { pathname, search } = new URL(await uploadUrl(assetId))
    const socket = connect(hub.address.port, '127.0.0.1')
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: hub\r\nContent-Length: 1000000\r\n\r\n`)
    socket.write(bytes.subarray(0, 500_000))
    await until('half of it has arrived', async () => (await incoming()).length === 1)
    socket.destroy()
    await until('the file is removed', async () => (await incoming()).length === 0)
    expect(await statusOf(assetId)).toBe('Dangling')
  })

  it('needs a URL that the hub signed for this blob, purpose and time', async () => {
    const [bytes, others] = [randomBytes(10), randomBytes(10)]
    const [assetId, otherId] = [await create(bytes), await create(others)]
    const url = await uploadUrl(assetId)
    const changed: [string, (url: URL) => void][] = [
      [
        'another blob',
        url => {
          url.pathname = url.pathname.replace(assetId, otherId)
        },
      ],
      ['another purpose', url => url.searchParams.set('purpose', 'verified-upload')],
      ['a later expiry', url => url.searchParams.set('expires', '9999999999')],
      ['no signature', url => url.searchParams.delete('signature')],
      ['a short signature', url => url.searchParams.set('signature', 'AAAA')],
      ['a file name', url => url.searchParams.set('filename', 'x')],
    ]
    for (const [what, change] of changed) {
      const other = new URL(url)
      change(other)
      const answer = await putBytes(other.href, bytes)
      expect([answer.status, await answer.json()], what).toEqual([
        403,
        expect.objectContaining({ kind: 'Forbidden' }),
      ])
    }
    expect((await fetch(url)).status).toBe(403)
    expect((await putBytes(await downloadUrl(await uploaded(randomBytes(5))), randomBytes(5))).status).toBe(
      403,
    )
    expect(await statusOf(assetId)).toBe('Dangling')
  })

  it('beyond the limit of concurrent uploads is refused with 429 and Retry-After', async () => {
    const bytes = randomBytes(100_000)
    const assetId = await create(bytes)
    const { pathname, search } = new URL(await uploadUrl(assetId))
    const sockets = Array.from({ length: 16 }, () => {
      const socket = connect(hub.address.port, '127.0.0.1')
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: hub\r\nContent-Length: 100000\r\n\r\n`)
      socket.write(bytes.subarray(0, 1000))
      return socket
    })
    await until('all are in flight', async () => (await incoming()).length === 16)
    const refused = await putBytes(await uploadUrl(assetId), bytes)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    // The limit counts the uploads of each person separately, so an upload of another person is accepted.
    const outsider = await hub.user()
    const theirs = await hub.repository(outsider, await hub.organization(outsider), { name: 'theirs' })
    const other = await outsider.invoke('repositories_CreateAsset', {
      repositoryId: theirs,
      size: bytes.length,
      digest: digestOf(bytes),
    })
    const { url } = await outsider.invoke('repositories_IssueAssetUploadUrl', { assetId: other.assetId })
    expect((await putBytes(url, bytes)).status).toBe(200)
    for (const socket of sockets) socket.destroy()
    await until('their files are removed', async () => (await incoming()).length === 0)
    expect((await putBytes(await uploadUrl(assetId), bytes)).status).toBe(200)
  })

  it('continues when the system clock is set forward by a day', async () => {
    const bytes = randomBytes(100_000)
    const assetId = await create(bytes)
    const { pathname, search } = new URL(await uploadUrl(assetId))
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] })
    try {
      const socket = connect(hub.address.port, '127.0.0.1')
      socket.write(
        `PUT ${pathname}${search} HTTP/1.1\r\nHost: hub\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n`,
      )
      socket.write(bytes.subarray(0, 50_000))
      const answer = text(socket)
      const arrived = (size: number): Promise<boolean> =>
        until(`${size} bytes are stored`, async () => {
          const name = (await incoming()).find(name => name.startsWith(assetId))
          return name !== undefined && (await stat(join(hub.dataDir, 'blobs/incoming', name))).size === size
        })
      await arrived(50_000)
      vi.setSystemTime(Date.now() + 24 * 60 * 60 * 1000)
      socket.write(bytes.subarray(50_000, 60_000))
      await arrived(60_000)
      vi.advanceTimersByTime(60_000)
      socket.write(bytes.subarray(60_000))
      expect(await answer).toMatch(/^HTTP\/1.1 200 /)
    } finally {
      vi.useRealTimers()
    }
  })

  it('of a blob that is deleted meanwhile is refused and leaves no file', async () => {
    const bytes = randomBytes(100_000)
    const assetId = await create(bytes)
    const { pathname, search } = new URL(await uploadUrl(assetId))
    const socket = connect(hub.address.port, '127.0.0.1')
    socket.write(
      `PUT ${pathname}${search} HTTP/1.1\r\nHost: hub\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n`,
    )
    socket.write(bytes.subarray(0, 50_000))
    await until('half of it has arrived', async () => (await incoming()).length === 1)
    await owner.invoke('repositories_DeleteAsset', { assetId })
    socket.write(bytes.subarray(50_000))
    expect(await text(socket)).toMatch(/^HTTP\/1.1 404 [\s\S]*This blob is gone/)
    expect(await incoming()).toEqual([])
  })
})

describe('a download', () => {
  it('is an attachment with its digest', async () => {
    const bytes = randomBytes(1_000)
    const answer = await fetch(await downloadUrl(await uploaded(bytes), 'releases/Übung "1".bin'))
    const sha256 = digestOf(bytes).slice(7)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-disposition': `attachment; filename="_bung _1_.bin"; filename*=UTF-8''%C3%9Cbung%20%221%22.bin`,
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      'cache-control': 'private, no-cache',
      etag: `"${sha256}"`,
      'x-content-sha256': sha256,
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
      'accept-ranges': 'bytes',
      'content-length': '1000',
    })
  })

  it.each([
    ['bytes=0-0', 206, 'bytes 0-0/1000', 1],
    ['bytes=990-', 206, 'bytes 990-999/1000', 10],
    ['bytes=990-5000', 206, 'bytes 990-999/1000', 10],
    ['bytes=-5', 206, 'bytes 995-999/1000', 5],
    ['bytes=-5000', 206, 'bytes 0-999/1000', 1000],
    ['bytes=1000-', 416, 'bytes */1000', 0],
    ['bytes=-0', 416, 'bytes */1000', 0],
    ['bytes=5-2', 200, null, 1000],
    ['bytes=0-1,5-6', 200, null, 1000],
    ['bytes=a-b', 200, null, 1000],
    ['lines=1-2', 200, null, 1000],
    ['bytes=99999999999999999999-', 200, null, 1000],
  ])('of the range %s', async (range, status, contentRange, length) => {
    const bytes = Buffer.alloc(1000, 'x')
    const url = await downloadUrl(await uploaded(bytes))
    const answer = await fetch(url, { headers: { range } })
    expect([
      answer.status,
      answer.headers.get('content-range'),
      (await answer.arrayBuffer()).byteLength,
    ]).toEqual([status, contentRange, length])
  })

  it('supports If-None-Match and If-Range by its entity tag', async () => {
    const bytes = randomBytes(1000)
    const url = await downloadUrl(await uploaded(bytes))
    const etag = `"${digestOf(bytes).slice(7)}"`
    const asked = async (headers: Record<string, string>, method = 'GET'): Promise<[number, number]> => {
      const answer = await fetch(url, { headers, method })
      return [answer.status, (await answer.arrayBuffer()).byteLength]
    }
    expect(await asked({ 'if-none-match': etag })).toEqual([304, 0])
    expect(await asked({ 'if-none-match': `"x", W/${etag}` })).toEqual([304, 0])
    expect(await asked({ 'if-none-match': '"x"' })).toEqual([200, 1000])
    expect(await asked({ 'if-range': etag, range: 'bytes=0-9' })).toEqual([206, 10])
    expect(await asked({ 'if-range': '"x"', range: 'bytes=0-9' })).toEqual([200, 1000])
    expect(await asked({}, 'HEAD')).toEqual([200, 0])
  })

  it('is refused for a changed or expired URL', async () => {
    const url = new URL(await downloadUrl(await uploaded(randomBytes(20)), 'a.bin'))
    for (const [name, value] of [
      ['filename', 'b.html'],
      ['sha256', '0'.repeat(64)],
      ['expires', '1'],
    ]) {
      const changed = new URL(url)
      changed.searchParams.set(name!, value!)
      expect((await fetch(changed)).status).toBe(403)
    }
    const pathname = `/api/v1/blobs/${encodeURIComponent('../../instance-key')}`
    expect((await fetch(new URL(pathname + url.search, url))).status).toBe(403)
  })

  it('has the same URL for a quarter of an hour and sends its expiry to a cache in front', async () => {
    const url = new URL(await downloadUrl(await uploaded(randomBytes(10))))
    const expires = Number(url.searchParams.get('expires'))
    expect(expires % 900).toBe(0)
    const leftSecs = expires - Date.now() / 1000
    expect(leftSecs).toBeGreaterThan(6_300 - 60)
    expect(leftSecs).toBeLessThanOrEqual(7_200)
    const { headers } = await fetch(url)
    expect(headers.get('x-accel-expires')).toBe(`@${expires}`)
    expect(headers.get('cache-control')).toBe('private, no-cache')
  })

  it('is not buffered in memory for clients that do not read', async () => {
    const bytes = randomBytes(20_000_000)
    const { pathname, search } = new URL(await downloadUrl(await uploaded(bytes)))
    const { result: sockets, heldBytes } = await heldDuring(async () => {
      const stuck = Array.from({ length: 20 }, () => {
        const socket = connect(hub.address.port, '127.0.0.1').pause()
        socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: hub\r\n\r\n`)
        return socket
      })
      await until('they are stuck', () => stuck.every(({ connecting }) => !connecting))
      const one = await fetch(new URL(pathname + search, hub.url))
      expect((await one.arrayBuffer()).byteLength).toBe(20_000_000)
      return stuck
    })
    expect(heldBytes).toBeLessThan(64 * 1024 * 1024)
    for (const socket of sockets) socket.destroy()
  })
})

describe('a file by its path', () => {
  const path = (filename: string, { repository = 'firmware', tag = 'stable' } = {}): string =>
    `/api/v1/repositories/${repository}/image/${tag}/assets/${filename}`
  const bytes = randomBytes(2_000)
  let versionId: string

  beforeAll(async () => {
    const packageId = await hub.package(owner, repositoryId, 'image')
    versionId = await hub.version(owner, packageId, 'stable')
    const assetId = await uploaded(bytes)
    for (const filename of ['arm64/disk image.bin', 'größe.bin'])
      await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename })
    const missing = await create(randomBytes(7))
    await owner.invoke('repositories_AddVersionAsset', { versionId, assetId: missing, filename: 'later.bin' })
  })

  it('is served only to callers who may read the repository', async () => {
    const token = await hub.userToken(owner)
    const outsiderToken = await hub.userToken(await hub.user())
    const file = path('arm64/disk%20image.bin')
    expect((await ask(hub, file)).status).toBe(401)
    expect((await ask(hub, path('x', { repository: 'nothing' }))).status).toBe(401)
    expect((await ask(hub, file, { token: outsiderToken })).status).toBe(403)
    expect((await ask(hub, path('x', { repository: 'nothing' }), { token: outsiderToken })).status).toBe(403)
    const answer = await fetch(`${hub.url}${file}`, { headers: { authorization: `Bearer ${token}` } })
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes)
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="disk image.bin"')
    expect(answer.headers.get('cache-control')).toBe('private, no-cache')
    for (const nothing of [path('x'), path('later.bin'), path('größe.bin', { tag: 'beta' })])
      expect((await ask(hub, nothing, { token })).status).toBe(404)
    expect(
      (await ask(hub, path('gr%C3%B6%C3%9Fe.bin'), { token, headers: { range: 'bytes=0-4' } })).status,
    ).toBe(206)
  })

  it('of a public repository is served without credentials', async () => {
    await owner.invoke('repositories_SetVisibility', { repositoryId, visibility: 'Public' })
    const answer = await fetch(`${hub.url}${path('arm64%2Fdisk%20image.bin')}`)
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes)
    expect(answer.headers.get('cache-control')).toBe('public, no-cache')
    expect((await ask(hub, path('x'))).status).toBe(404)
    expect((await ask(hub, path('arm64/disk%20image.bin', { tag: versionId }))).status).toBe(200)
    const head = await fetch(`${hub.url}${path('arm64/disk%20image.bin')}`, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '2000'])
  })

  it('with any of ten thousand generated names leads to no other file and adds no header', {
    timeout: 120_000,
  }, async () => {
    const pieces = [
      '..',
      '.',
      '%2e%2e',
      '%2f',
      '/',
      '\\',
      '%5c',
      '%00',
      '%0d%0aX-Evil:%201',
      '%c0%ae',
      'é'.repeat(60),
      'a',
      '~',
      'etc/passwd',
      '%252e',
      ';',
      '%E2%80%AE',
      ' ',
      'CON',
      '%ff',
    ]
    const url = new URL(await downloadUrl(await uploaded(Buffer.from('harmless'))))
    const pick = randomFrom(inject('fuzzSeed'))
    const names = Array.from({ length: 10_000 }, () =>
      Array.from({ length: 1 + pick(5) }, () => pieces[pick(pieces.length)]!).join(pick(2) ? '/' : ''),
    )
    const refusals = new Set<number>()
    for (let at = 0; at < names.length; at += 100) {
      await Promise.all(
        names.slice(at, at + 100).map(async (name, index) => {
          const isFile = index % 2 === 0
          const target = isFile ? path(name) : `/api/v1/blobs/${name}${url.search}`
          const { status, headers, body } = await rawGet(target)
          refusals.add(status)
          expect(headers, name).not.toMatch(/^x-evil/im)
          expect(body, name).not.toMatch(/root:|[0-9a-f]{64}$/)
        }),
      )
    }
    expect([...refusals].filter(status => ![400, 403, 404, 414].includes(status))).toEqual([])
    // A hostile file name cannot add a parameter to `Content-Disposition` or another header to the response.
    const { attachment } = await import('../../platform/net/attachment.ts')
    for (const name of names)
      expect(attachment(decodeURIComponentSafely(name))).toMatch(
        /^attachment; filename="[ -~]*"(; filename\*=UTF-8''[\w%.~!*-]*)?$/,
      )
  })
})

/** Pseudo-random integers below `limit`, the same in every run. */
function randomFrom(seed: number): (limit: number) => number {
  let state = seed
  return limit => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 8) % limit
  }
}

async function rawGet(target: string): Promise<{ status: number; headers: string; body: string }> {
  const socket = connect(hub.address.port, '127.0.0.1')
  socket.write(
    `GET ${target.replaceAll(' ', '%20')} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n`,
    'latin1',
  )
  const answer = await text(socket)
  const end = answer.indexOf('\r\n\r\n')
  return { status: Number(answer.slice(9, 12)), headers: answer.slice(0, end), body: answer.slice(end + 4) }
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

describe('the sweep', () => {
  it('removes files of aborted uploads and moves files without an asset to `lost`', async () => {
    const folder = join(hub.dataDir, 'blobs')
    await mkdir(join(folder, 'incoming'), { recursive: true })
    const kept = await uploaded(randomBytes(30))
    const lost = newId('repo_a')
    // No asset of another test is in this folder: its name stands for ids that end with `00`, and ids have no `0`.
    const shard = join(folder, Buffer.from('00').toString('hex'))
    await mkdir(shard)
    await writeFile(join(shard, lost), 'nobody knows me')
    await writeFile(join(folder, 'incoming', 'dead'), 'half')
    await writeFile(join(folder, 'incoming', 'alive'), 'half')
    const before = new Date(Date.now() - 60 * 60 * 1000)
    await utimes(join(folder, 'incoming', 'dead'), before, before)
    await hub.runJob('repositories_SweepBlobs', {})
    expect(await readdir(join(folder, 'incoming'))).toEqual(['alive'])
    expect(await readdir(shard)).toEqual([])
    expect(await readdir(join(folder, 'lost'))).toEqual([lost])
    expect((await fetch(await downloadUrl(kept))).status).toBe(200)
    await rm(join(folder, 'incoming', 'alive'))
  })

  it('does not move a file to `lost` whose removal is pending', async () => {
    const folder = join(hub.dataDir, 'blobs')
    const assetId = await uploaded(randomBytes(30))
    await owner.invoke('repositories_DeleteAsset', { assetId })
    const filesOf = async (): Promise<string[]> =>
      (await readdir(folder, { recursive: true })).filter(path => path.endsWith(assetId))
    const due = (not_before: Date) => hub.db.updateTable('blob_removal').set({ not_before }).execute()
    // Postpones the removal of the file by a minute. A removal is pending during a sweep if the asset is deleted during that
    // sweep, or if an earlier attempt to remove the file failed.
    await due(new Date(Date.now() + 60_000))
    await hub.runJob('repositories_SweepBlobs', {})
    expect(await filesOf()).toEqual([expect.not.stringContaining('lost')])
    await due(new Date())
    await hub.runJob('repositories_SweepBlobs', {})
    expect(await filesOf()).toEqual([])
  })

  it('processes all due removals, even more than one batch', async () => {
    const due = Array.from({ length: 1_500 }, () => ({ asset_id: newId('repo_a'), object_key: '' }))
    await hub.db.insertInto('blob_removal').values(due).execute()
    await hub.runJob('repositories_SweepBlobs', {})
    expect(await hub.db.selectFrom('blob_removal').selectAll().execute()).toEqual([])
  })
})

it('O6: reports a disk without free inodes as full, at every step of an upload', async context => {
  await using disk = await smallDisk(8, 40)
  if (!disk) return context.skip('needs the right to mount a file system')
  await using small = await testHub({ dataDir: disk.path })
  const person = await small.user()
  const repositoryId = await small.repository(person, await small.organization(person))
  const upload = async (): Promise<Response> => {
    const bytes = randomBytes(100)
    const input = { repositoryId, size: bytes.length, digest: digestOf(bytes) }
    const { assetId } = await person.invoke('repositories_CreateAsset', input)
    return putBytes((await person.invoke('repositories_IssueAssetUploadUrl', { assetId })).url, bytes)
  }
  const fill = async (): Promise<void> => {
    for (let index = 0; index < 100; index++) {
      try {
        await writeFile(join(disk.path, `filler-${index}`), '', { flag: 'wx' })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return
        throw error
      }
    }
  }
  const full = async () => {
    const answer = await upload()
    expect(answer.status).toBe(507)
    expect(((await answer.json()) as { message: string }).message).toMatch(/^The disk of the hub.* is full: /)
  }
  // Each iteration frees one inode. An upload needs three: one for the folder of uploads, one for its file and one for the
  // file's final folder.
  await fill()
  for (let free = 0; free < 3; free++) {
    await full()
    await rm(join(disk.path, `filler-${free}`))
  }
  for (let free = 3; free < 8; free++) await rm(join(disk.path, `filler-${free}`))
  expect((await upload()).status).toBe(200)
})

it('refuses uploads with a clear error while the disk is full, and accepts them when there is space (goal R9)', async context => {
  await using disk = await smallDisk(8)
  if (!disk) return context.skip('needs the right to mount a file system')
  await using small = await testHub({ dataDir: disk.path })
  const person = await small.user()
  const repositoryId = await small.repository(person, await small.organization(person))
  const urlFor = async (bytes: Uint8Array): Promise<string> => {
    const input = { repositoryId, size: bytes.length, digest: digestOf(bytes) }
    const { assetId } = await person.invoke('repositories_CreateAsset', input)
    return (await person.invoke('repositories_IssueAssetUploadUrl', { assetId })).url
  }
  const upload = async (bytes: Uint8Array): Promise<Response> => putBytes(await urlFor(bytes), bytes)
  const tooLarge = await upload(randomBytes(9_000_000))
  expect([tooLarge.status, await tooLarge.json()]).toEqual([
    507,
    expect.objectContaining({ message: 'The disk of the hub is full: the file does not fit.' }),
  ])
  // Each of the four uploads would fit alone. The hub also counts the announced sizes of uploads in flight.
  const answers = await Promise.all(Array.from({ length: 4 }, () => upload(randomBytes(3_000_000))))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 507, 507])
  // The hub keeps some free space in reserve for the database.
  expect((await upload(randomBytes(2_000_000))).status).toBe(507)

  // Another program can still fill the disk in the middle of an upload.
  const bytes = randomBytes(1_000_000)
  const { pathname, search } = new URL(await urlFor(bytes))
  const socket = connect(small.address.port, '127.0.0.1')
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: hub\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n`,
  )
  socket.write(bytes.subarray(0, 500_000))
  const incoming = join(disk.path, 'blobs/incoming')
  await until('half of it has arrived', async () => (await readdir(incoming)).length === 1)
  const filler = join(disk.path, 'filler')
  await expect(writeFile(filler, Buffer.alloc(8_000_000))).rejects.toThrow('ENOSPC')
  socket.write(bytes.subarray(500_000))
  expect(await text(socket)).toMatch(/^HTTP\/1.1 507 [\s\S]*The disk of the hub is full/)
  await rm(filler)
  expect(await readdir(incoming)).toEqual([])

  const { assets } = await person.invoke('repositories_QueryAssets', { repositoryId })
  expect(assets.filter(({ status }) => status === 'Available')).toHaveLength(2)
  for (const { assetId, status } of assets)
    if (status === 'Available') await person.invoke('repositories_DeleteAsset', { assetId })
  await small.runJob('repositories_SweepBlobs', {})
  expect((await upload(randomBytes(3_000_000))).status).toBe(200)
})
