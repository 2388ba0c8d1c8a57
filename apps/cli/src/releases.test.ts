import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import { ConnectProxy } from '@muster/link/testing'
import {
  type CuttingProxy,
  connectDevice,
  cuttingProxy,
  digestOf,
  fakeS3,
  type Muster,
  muster,
  putBytes,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { hasPrograms } from '@muster/testkit/programs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let proxy: CuttingProxy
let cli: Muster
let repositoryId: string
let packageId: string

beforeAll(async () => {
  proxy = await cuttingProxy()
  hub = await testHub({ publicUrl: proxy.url, outboundAllow: ['127.0.0.0/8'] })
  proxy.leadTo(hub.address.port)
  owner = await hub.user()
  const organizationId = await hub.organization(owner)
  cli = await muster({ MUSTER_HUB: proxy.url, MUSTER_TOKEN: await hub.userToken(owner) })
  const made = await cli.json<{ repositoryId: string }>('repositories', 'create', organizationId, 'firmware')
  repositoryId = made.repositoryId
  const options = ['--kind', 'image', '--metadata', '{"line": 2}']
  const pump = await cli.json<{ packageId: string }>('packages', 'create', 'firmware', 'pump', ...options)
  packageId = pump.packageId
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
  proxy[Symbol.dispose]()
})

let bytes: Buffer
beforeEach(async () => {
  bytes = randomBytes(3_000_000)
  await writeFile(join(cli.folder, 'image.raw'), bytes)
})

const sha256 = (of: Buffer) => createHash('sha256').update(of).digest('hex')
const fileHere = (name: string) => readFile(join(cli.folder, name))

/** Creates a version with a new tag, without the command line; returns its id and `firmware/pump/TAG`. */
async function newVersion(): Promise<{ versionId: string; path: string }> {
  const tag = `t-${randomBytes(6).toString('hex')}`
  return { versionId: await hub.version(owner, packageId, tag), path: `firmware/pump/${tag}` }
}

/** Adds `image.raw` with `bytes` to a version, without the command line. */
async function addImage(versionId: string): Promise<void> {
  const asset = { repositoryId, size: bytes.length, digest: digestOf(bytes) }
  const { assetId } = await owner.invoke('repositories_CreateAsset', asset)
  const { url } = await owner.invoke('repositories_IssueAssetUploadUrl', { assetId })
  expect((await putBytes(url, bytes)).status).toBe(200)
  await owner.invoke('repositories_AddVersionAsset', { versionId, assetId, filename: 'image.raw' })
}

describe('packages and versions', () => {
  it('are created, found by their path, and listed', async () => {
    expect(await cli.json('packages', 'list', 'firmware')).toEqual([
      expect.objectContaining({ name: 'pump', kind: 'image' }),
    ])
    expect(await cli.json('packages', 'info', 'firmware/pump')).toMatchObject({ metadata: { line: 2 } })
    const twice = await cli.run(['packages', 'create', 'firmware', 'pump'])
    expect(twice).toMatchObject({ code: 1, err: 'muster: The package "pump" exists already.\n' })
    const path = 'firmware/pump/first'
    await cli.json('versions', 'create', 'firmware/pump', '--tag', 'first')
    const found = await cli.json<{ versionId: string }>('repositories', 'versions', 'resolve', path)
    expect(found).toMatchObject({ result: 'Found' })
    expect(await cli.json('versions', 'list', 'firmware/pump')).toContainEqual(
      expect.objectContaining({ versionId: found.versionId }),
    )
  })

  it('that do not exist resolve to NotFound, and make other commands fail', async () => {
    expect(await cli.run(['versions', 'resolve', 'firmware/pump/never'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('NotFound'),
    })
    expect(await cli.run(['versions', 'info', 'firmware/pump/never'])).toEqual({
      code: 1,
      out: '',
      err: 'muster: There is no version "firmware/pump/never", or you may not see it.\n',
    })
  })

  it('a tag moves only when requested, and never when it is locked', async () => {
    const [one, other] = [(await newVersion()).path, (await newVersion()).path]
    await cli.json('versions', 'tag', one, '--tag', 'stable')
    const taken = await cli.run(['versions', 'tag', other, '--tag', 'stable'])
    expect(taken).toMatchObject({ code: 1, err: expect.stringMatching(/^muster: [^\n]*stable[^\n]*\n$/) })
    await cli.json('versions', 'tag', other, '--tag', 'stable,reassign')
    await cli.json('versions', 'tag', other, '--tag', '1.0.0,locked')
    const locked = await cli.run(['versions', 'tag', one, '--tag', '1.0.0,reassign'])
    expect(locked).toMatchObject({ code: 1, err: expect.stringContaining('locked') })
    expect((await cli.run(['versions', 'untag', other, '--tag', '1.0.0'])).code).toBe(1)
    expect((await cli.run(['versions', 'untag', other, '--tag', 'stable'])).code).toBe(0)
    const { out } = await cli.run(['versions', 'list', 'firmware/pump'])
    expect(out).toContain('1.0.0 (locked)')
  })
})

describe('an upload', () => {
  it('adds files to a version, and skips existing ones', async () => {
    const { path } = await newVersion()
    await writeFile(join(cli.folder, 'notes.txt'), randomBytes(20))
    const first = await cli.run(['assets', 'upload', path, 'image.raw', 'notes.txt'])
    expect(first.code).toBe(0)
    expect(first.out).toMatch(/image\.raw.*3000000.*Created/)
    expect(first.err).toContain('image.raw: 3000000 bytes\n')
    expect(first.err).toContain('image.raw: uploaded\n')
    const { assets } = await cli.json<{ assets: object[] }>('versions', 'info', path)
    expect(assets).toHaveLength(2)
    expect(assets[0]).toMatchObject({
      filename: 'image.raw',
      status: 'Available',
      digest: `sha256_${sha256(bytes)}`,
    })
    const before = proxy.carried.up
    const again = await cli.run(['assets', 'upload', path, 'image.raw', 'notes.txt'])
    expect(again.code).toBe(0)
    expect(again.err).toContain('image.raw: already there\n')
    expect(proxy.carried.up - before).toBeLessThan(100_000)
  })

  it('is sent again after an interruption', async () => {
    const cuts = proxy.carried.cuts
    proxy.cutOnce('up', 1_000_000)
    const [uploaded] = await cli.json<{ assetId: string; result: string }[]>(
      'assets',
      'upload',
      'firmware',
      'image.raw',
    )
    expect(uploaded).toMatchObject({ result: 'Created' })
    expect(proxy.carried.cuts).toBe(cuts + 1)
    expect(await cli.json('assets', 'info', uploaded!.assetId)).toMatchObject({
      status: 'Available',
      size: 3_000_000,
    })
  })

  it('of a file that changes meanwhile fails, and leaves no downloadable blob', async () => {
    const path = join(cli.folder, 'shrinking.raw')
    await writeFile(path, '')
    await truncate(path, 100_000_000)
    const { err, ended } = cli.start(['assets', 'upload', 'firmware', 'shrinking.raw'])
    await until('it is hashed', () => err().includes('shrinking.raw: 100000000 bytes'))
    await truncate(path, 1_000)
    expect(await ended).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /muster: shrinking\.raw: Found \d+ bytes instead of 100000000: the file changed\./,
      ),
    })
    const assets = await cli.json<{ size: number; status: string }[]>('assets', 'list', 'firmware')
    expect(assets.find(({ size }) => size === 100_000_000)).toMatchObject({ status: 'Dangling' })
  })

  it.each([
    [
      'with an error of the hub',
      400,
      JSON.stringify({ kind: 'Invalid', message: 'Too large.' }),
      'Too large.',
    ],
    [
      'with its own page',
      413,
      '<html>\r\n<head><title>413 Request Entity Too Large</title></head></html>',
      'Found an answer that is not from the hub (413: 413 Request Entity Too Large); check the proxy',
    ],
    [
      'with a redirect',
      308,
      '',
      'Found an answer that is not from the hub (308: Permanent Redirect); check the proxy',
    ],
  ])(
    'ends when a proxy refuses it early, %s, but leaves the connection open',
    async (_how, status, body, message) => {
      let asked = 0
      const wall = createServer((_, response) => {
        asked++
        response.writeHead(status).end(body)
      }).listen(0, '127.0.0.1')
      await once(wall, 'listening')
      proxy.leadTo((wall.address() as AddressInfo).port)
      try {
        await truncate(join(cli.folder, 'image.raw'), 100_000_000)
        const argv = ['assets', 'upload', 'firmware', 'image.raw']
        const { code, err } = await cli.run(argv, { env: { MUSTER_HUB: hub.url } })
        expect(code).toBe(1)
        expect(err).toContain(`\nmuster: image.raw: ${message}`)
        expect(asked).toBe(1)
      } finally {
        proxy.leadTo(hub.address.port)
        wall.closeAllConnections()
        wall.close()
      }
    },
  )

  it('of a file given twice adds it once', async () => {
    const { path } = await newVersion()
    const uploads = [path, 'image.raw', join(cli.folder, 'image.raw')]
    expect(await cli.run(['assets', 'upload', ...uploads, '--parallel', '1'])).toMatchObject({ code: 0 })
  })

  it('continues with the other files when one fails, and names that file', async () => {
    const { code, out, err } = await cli.run(['assets', 'upload', 'firmware', 'missing.raw', 'image.raw'])
    expect(code).toBe(1)
    expect(out).toBe('')
    expect(err).toContain('image.raw: uploaded\n')
    // The same command would fail again (D12).
    expect(err).toMatch(/\nmuster: missing\.raw: Found no readable file \(ENOENT\)\.\n$/)
  })

  it('does not replace another file of the same name', async () => {
    const { path } = await newVersion()
    await cli.json('assets', 'upload', path, 'image.raw')
    await writeFile(join(cli.folder, 'image.raw'), 'something else')
    const { code, err } = await cli.run(['assets', 'upload', path, 'image.raw'])
    expect(code).toBe(1)
    expect(err).toContain('The version has another file "image.raw".')
  })

  it('of an empty file works', async () => {
    await writeFile(join(cli.folder, 'empty'), '')
    const { path } = await newVersion()
    await cli.json('assets', 'upload', path, 'empty')
    expect(await cli.run(['assets', 'download', `${path}/empty`, '-o', 'empty-again'])).toMatchObject({
      code: 0,
    })
    expect(await fileHere('empty-again')).toHaveLength(0)
  })

  it('to a missing or forbidden version exits with the right code', async () => {
    expect(await cli.run(['assets', 'upload', 'nowhere', 'image.raw'])).toMatchObject({ code: 1 })
    const other = await hub.user()
    const foreign = await hub.repository(other, await hub.organization(other), { visibility: 'Public' })
    const { code, err } = await cli.run(['assets', 'upload', foreign, 'image.raw'])
    expect(code).toBe(3)
    expect(err).toMatch(/\nmuster: image\.raw: /)
  })
})

describe('a download', () => {
  let path: string
  beforeEach(async () => {
    const version = await newVersion()
    path = version.path
    await addImage(version.versionId)
  })

  it('is stored under its own name, verified, and replaces no file by default', async () => {
    const blocked = await cli.run(['assets', 'download', `${path}/image.raw`])
    expect(blocked).toMatchObject({ code: 2, err: expect.stringContaining('--force') })
    await writeFile(join(cli.folder, 'image.raw'), 'old')
    const done = await cli.json('assets', 'download', `${path}/image.raw`, '--force')
    expect(done).toMatchObject({ size: 3_000_000, digest: `sha256_${sha256(bytes)}` })
    expect(sha256(await fileHere('image.raw'))).toBe(sha256(bytes))
  })

  it('replaces regular files only, and keeps symbolic links', async () => {
    await mkdir(join(cli.folder, 'folder'))
    spawnSync('/usr/bin/mkfifo', [join(cli.folder, 'pipe')])
    for (const name of ['folder', 'pipe']) {
      const argv = ['assets', 'download', `${path}/image.raw`, '-o', name, '--force']
      expect(await cli.run(argv)).toMatchObject({
        code: 2,
        out: '',
        err: `muster: Found something other than a file at ${name}.\n`,
      })
    }
    await writeFile(join(cli.folder, 'target.raw'), 'old')
    await symlink('target.raw', join(cli.folder, 'link.raw'))
    await cli.json('assets', 'download', `${path}/image.raw`, '-o', 'link.raw', '--force')
    expect(await readlink(join(cli.folder, 'link.raw'))).toBe('target.raw')
    expect(sha256(await fileHere('target.raw'))).toBe(sha256(bytes))
  })

  it('is resumed after an interruption', async () => {
    const before = proxy.carried.down
    const cuts = proxy.carried.cuts
    proxy.cutOnce('down', 2_000_000)
    await cli.json('assets', 'download', `${path}/image.raw`, '-o', 'cut.raw')
    expect(sha256(await fileHere('cut.raw'))).toBe(sha256(bytes))
    expect(proxy.carried.cuts).toBe(cuts + 1)
    // A download that starts again from the beginning would transfer 5 MB in total.
    expect(proxy.carried.down - before).toBeLessThan(4_000_000)
  })

  it('continues the partial file of an earlier call', async () => {
    await writeFile(join(cli.folder, 'left.raw.part'), bytes.subarray(0, 2_900_000))
    const before = proxy.carried.down
    await cli.json('assets', 'download', `${path}/image.raw`, '-o', 'left.raw')
    expect(sha256(await fileHere('left.raw'))).toBe(sha256(bytes))
    expect(proxy.carried.down - before).toBeLessThan(500_000)
  })

  it('works with the longest file names', async () => {
    const name = 'x'.repeat(255)
    await writeFile(join(cli.folder, name), bytes)
    await cli.json('assets', 'upload', path, name)
    await rm(join(cli.folder, name))
    await cli.json('assets', 'download', `${path}/${name}`)
    expect(sha256(await fileHere(name))).toBe(sha256(bytes))
    await rm(join(cli.folder, name))
    expect((await readdir(cli.folder)).filter(left => left.endsWith('.part'))).toEqual([])
  })

  it('starts again if the partial file belongs to another file or is too long', async () => {
    await writeFile(join(cli.folder, 'wrong.raw.part'), randomBytes(1_000_000))
    await cli.json('assets', 'download', `${path}/image.raw`, '-o', 'wrong.raw')
    expect(sha256(await fileHere('wrong.raw'))).toBe(sha256(bytes))
    await writeFile(join(cli.folder, 'long.raw.part'), randomBytes(4_000_000))
    await cli.json('assets', 'download', `${path}/image.raw`, '-o', 'long.raw')
    expect(sha256(await fileHere('long.raw'))).toBe(sha256(bytes))
  })

  it('of bytes with a wrong digest leaves no file of that name', async () => {
    const { assetId } = await cli.json<{ assetId: string }>(
      'actions',
      'execute',
      'repositories_ResolveVersionAssetByPath',
      JSON.stringify(pathParts(path)),
    )
    await spoil(assetId)
    const { code, err } = await cli.run(['assets', 'download', `${path}/image.raw`, '-o', 'spoilt.raw'])
    expect(code).toBe(1)
    expect(err).toMatch(/muster: [^\n]+\n$/)
    await expect(stat(join(cli.folder, 'spoilt.raw'))).rejects.toThrow('ENOENT')
  })
})

it('transfers blobs in S3 directly, and retries after failures of the store', async () => {
  await using store = await fakeS3()
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = store
  const config = { endpoint, bucket, region, accessKeyId, secretAccessKey }
  await cli.json('repositories', 's3', 'set', 'firmware', JSON.stringify(config))
  const shown = await cli.run(['repositories', 's3', 'get', 'firmware'])
  expect(shown.out).toContain(bucket)
  expect(shown.out).not.toContain(secretAccessKey)
  const { path } = await newVersion()
  const before = proxy.carried.up + proxy.carried.down
  store.misbehave({ method: 'PUT', times: 1, does: 'answers', status: 503 })
  await cli.json('assets', 'upload', path, 'image.raw')
  store.misbehave({ method: 'GET', times: 1, does: 'cuts' })
  await cli.json('assets', 'download', `${path}/image.raw`, '-o', 'from-s3.raw')
  expect(sha256(await fileHere('from-s3.raw'))).toBe(sha256(bytes))
  expect(proxy.carried.up + proxy.carried.down - before).toBeLessThan(500_000)
})

it.skipIf(!hasPrograms('openssl'))(
  'trusts a hub whose certificate the operating system trusts: for actions, files and forwards',
  async () => {
    const [cert, key] = [join(cli.folder, 'hub.pem'), join(cli.folder, 'hub-key.pem')]
    const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=hub -addext'
    const names = ['subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert]
    execFileSync('/usr/bin/openssl', ['req', ...options.split(' '), ...names], { stdio: 'ignore' })
    await using sockets = new AsyncDisposableStack()
    let plainPort = 0
    const front = createTlsServer({ cert: await readFile(cert), key: await readFile(key) }, socket => {
      const inner = connect(plainPort, '127.0.0.1')
      pipeline(socket, inner, socket, () => {})
      sockets.defer(() => void inner.destroy())
    }).listen(0, '127.0.0.1')
    await once(front, 'listening')
    sockets.defer(() => void front.close())
    const url = `https://127.0.0.1:${(front.address() as AddressInfo).port}`
    await using secure = await testHub({ publicUrl: url })
    plainPort = secure.address.port
    const { owner, organizationId, token } = await secure.fleet()
    await using device = await connectDevice({ url: secure.url, token })
    const environment = { MUSTER_HUB: url, MUSTER_TOKEN: await secure.userToken(owner) }
    await using signedOut = await muster(environment)
    expect(await signedOut.run(['whoami'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('certificate'),
    })
    await using person = await muster({ ...environment, SSL_CERT_FILE: cert })
    await person.json('repositories', 'create', organizationId, 'firmware')
    await writeFile(join(person.folder, 'image.raw'), bytes)
    const [{ assetId } = { assetId: '' }] = await person.json<{ assetId: string }[]>(
      'assets',
      'upload',
      'firmware',
      'image.raw',
    )
    await person.json('assets', 'download', assetId, '-o', 'again.raw')
    expect(sha256(await readFile(join(person.folder, 'again.raw')))).toBe(sha256(bytes))
    const { child, out, err, ended } = person.start(['forward', device.deviceId, '0:80'])
    await until('it listens', () => out().includes('Ctrl-C') || err())
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0, err: '' })
  },
)

it('D7: uploads, downloads and forwards through a proxy, which is named when it fails', async () => {
  await using site = await ConnectProxy.start()
  site.credentials = 'crane:s3cret'
  await using remote = await testHub({ publicUrl: 'http://hub.test', allowPlaintextDevices: true })
  site.ports.set('hub.test:80', remote.address.port)
  const { owner, organizationId, token } = await remote.fleet()
  await using device = await connectDevice({ url: `http://127.0.0.1:${remote.address.port}`, token })
  // A token that is read from a file ends with a line break (D12).
  const environment = { MUSTER_HUB: 'http://hub.test', MUSTER_TOKEN: `${await remote.userToken(owner)}\r\n` }
  await using person = await muster({ ...environment, http_proxy: site.url })
  await person.json('repositories', 'create', organizationId, 'firmware')
  await writeFile(join(person.folder, 'image.raw'), bytes)
  const [uploaded] = await person.json<{ assetId: string }[]>('assets', 'upload', 'firmware', 'image.raw')
  await person.json('assets', 'download', uploaded!.assetId, '-o', 'again.raw')
  expect(sha256(await readFile(join(person.folder, 'again.raw')))).toBe(sha256(bytes))
  const { child, out, err, ended } = person.start(['forward', device.deviceId, '0:80'])
  await until('it listens', () => out().includes('Ctrl-C') || err())
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 0, err: '' })
  expect(new Set(site.targets)).toEqual(new Set(['hub.test:80']))
  site.credentials = 'crane:other'
  const { code, err: refusal } = await person.run(['whoami'])
  expect(code).toBe(1)
  expect(refusal).toContain(
    `through the proxy ${new URL(site.url).origin} (HTTP_PROXY): it wants other credentials`,
  )
  expect(refusal).not.toContain('s3cret')
})

function pathParts(path: string) {
  const [repository, name, tag] = path.split('/')
  return { repository, package: name, tag, filename: 'image.raw' }
}

/** Overwrites the stored bytes of a blob behind the hub's back, so that the digest no longer matches. */
async function spoil(assetId: string): Promise<void> {
  const names = await readdir(join(hub.dataDir, 'blobs'), { recursive: true })
  const name = names.find(one => one.includes(assetId.slice('repo_a_'.length)) && one.length > assetId.length)
  await writeFile(join(hub.dataDir, 'blobs', name!), randomBytes(3_000_000))
}
