import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import type { Invoke } from '@muster/actions/client'
import { digestOf, putBytes, until } from '@muster/testkit'
import { expect, it } from 'vitest'
import { newFolder, proportionalBytes, signedIn, startedHub } from './hub-child.ts'

const MIB = 1024 * 1024

it('a hub that was killed during an upload does not show the file, and accepts it again', async () => {
  await using folder = await newFolder()
  const bytes = randomBytes(64 * MIB)
  let assetId: string
  {
    await using hub = await startedHub({ dataDir: folder.path })
    const invoke = await signedIn(hub)
    assetId = await newAsset(invoke, await newRepository(invoke), bytes)
    const { url } = await invoke('repositories_IssueAssetUploadUrl', { assetId })
    const upload = request(url, { method: 'PUT', headers: { 'content-length': bytes.length } })
    upload.on('error', () => {})
    upload.write(bytes.subarray(0, 32 * MIB))
    await until('a part has been written', async () => {
      const names = await readdir(join(folder.path, 'blobs/incoming')).catch(() => [])
      return names.length === 1
    })
    hub.kill('SIGKILL')
    await hub.exited
    upload.destroy()
  }
  await using hub = await startedHub({ dataDir: folder.path })
  const invoke = await signedIn(hub)
  expect(await invoke('repositories_GetAssetDetails', { assetId })).toMatchObject({ status: 'Dangling' })
  await expect(invoke('repositories_IssueAssetDownloadUrl', { assetId })).rejects.toMatchObject({
    kind: 'Invalid',
  })
  await expect(invoke('repositories_FinalizeAssetUpload', { assetId })).rejects.toMatchObject({
    kind: 'Invalid',
  })
  await upAndDown(invoke, assetId, bytes)
})

it('a large file is uploaded and downloaded without buffering it in the hub’s memory', async () => {
  await using folder = await newFolder()
  await using hub = await startedHub({ dataDir: folder.path })
  const invoke = await signedIn(hub)
  const repositoryId = await newRepository(invoke)
  const transfer = async (bytes: Buffer): Promise<void> =>
    upAndDown(invoke, await newAsset(invoke, repositoryId, bytes), bytes)
  // A first transfer loads code and allocates buffers. This memory must not count.
  await transfer(randomBytes(8 * MIB))
  const before = proportionalBytes([hub.pid])
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, proportionalBytes([hub.pid]))
  }, 20)
  await transfer(randomBytes(256 * MIB)).finally(() => clearInterval(timer))
  process.stdout.write(`256 MiB up and down: the hub grew by ${Math.round((most - before) / MIB)} MiB\n`)
  expect(most - before).toBeLessThan(64 * MIB)
})

async function newRepository(invoke: Invoke): Promise<string> {
  const { organizations } = await invoke('organizations_Query', {})
  const { organizationId } = organizations[0]!
  const made = await invoke('repositories_Create', { organizationId, name: 'firmware' })
  if (made.result !== 'Created') throw new Error(made.result)
  return made.repositoryId
}

async function newAsset(invoke: Invoke, repositoryId: string, bytes: Buffer): Promise<string> {
  const input = { repositoryId, size: bytes.length, digest: digestOf(bytes) }
  return (await invoke('repositories_CreateAsset', input)).assetId
}

/** Uploads the bytes of an asset, downloads them and compares. */
async function upAndDown(invoke: Invoke, assetId: string, bytes: Buffer): Promise<void> {
  const { url } = await invoke('repositories_IssueAssetUploadUrl', { assetId })
  expect((await putBytes(url, bytes)).status).toBe(200)
  const download = await invoke('repositories_IssueAssetDownloadUrl', { assetId })
  const back = Buffer.from(await (await fetch(download.url)).arrayBuffer())
  expect(back.equals(bytes)).toBe(true)
}
