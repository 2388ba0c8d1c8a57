import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorOf, MAX_FILENAME_PART_BYTES } from '@muster/actions/client'
import type { SiteProxy } from '@muster/link/site-proxy'
import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliError } from './errors.ts'
import type { Transfer } from './progress.ts'
import { fetchVia } from './proxied-fetch.ts'
import { retry } from './retry.ts'
import { trustSystemAuthorities } from './trust.ts'

const READ_BYTES = 1024 * 1024
/** Names of digest algorithms at the hub, mapped to their names in Node. */
const ALGORITHMS = new Map([
  ['sha256', 'sha256'],
  ['sha512_256', 'sha512-256'],
  ['sha512', 'sha512'],
])

/**
 * Downloads a blob into a file. Continues `<path>.part` of an earlier call. The partial file is renamed to `path` only if it
 * has the size and digest that the hub reports. Throws `CliError`.
 */
export async function download(
  context: CommandContext,
  command: Command,
  { assetId, path, transferOf }: { assetId: string; path: string; transferOf: (size: number) => Transfer },
): Promise<{ path: string; size: number; digest: string }> {
  const { invoke, signal } = context
  const { size, digest, status } = await invoke(command, 'repositories_GetAssetDetails', { assetId })
  if (status !== 'Available')
    throw new CliError(`Found no bytes at the hub yet (${status}); upload the file first.`)
  const transfer = transferOf(size)
  const part = partOf(path, assetId)
  for (let isFresh = (await lengthOf(part)) === 0; ; isFresh = true) {
    await retry(async () => {
      const { url } = await invoke(command, 'repositories_IssueAssetDownloadUrl', { assetId })
      const proxy = await context.proxyTo(command, url)
      await fetchRest(url, part, { size, transfer, signal, proxy })
    }, signal)
    const found = await digestOf(part, digest, signal)
    if (found === digest) break
    await rm(part, { force: true })
    // After a wrong digest the download starts again from the beginning, because the partial file of an earlier call may belong
    // to another blob. A download that began without a partial file fails instead.
    if (isFresh)
      throw new CliError(`The bytes have the digest ${found}, expected ${digest}; they were deleted.`)
  }
  await rename(part, path)
  transfer.end('downloaded and verified')
  return { path, size, digest }
}

/** Path of the partial file. It is in the folder of the file, under a name that is short enough for file systems. */
function partOf(path: string, assetId: string): string {
  const part = `${path}.part`
  return Buffer.byteLength(basename(part)) <= MAX_FILENAME_PART_BYTES
    ? part
    : join(dirname(path), `${assetId}.part`)
}

/** Downloads the missing rest of a partial file. */
async function fetchRest(
  url: string,
  part: string,
  {
    size,
    transfer,
    signal,
    proxy,
  }: { size: number; transfer: Transfer; signal: AbortSignal; proxy: SiteProxy | undefined },
): Promise<void> {
  const length = await lengthOf(part)
  if (length === size && size > 0) return
  const start = length < size ? length : 0
  trustSystemAuthorities(url, proxy?.url)
  const response = await fetchVia(proxy)(url, {
    headers: start > 0 ? { range: `bytes=${start}-` } : {},
    signal,
  })
  if (!response.ok || !response.body) throw await errorOf(response)
  // A server that ignores the Range header sends the whole file with status 200.
  const isContinued = response.status === 206
  let doneBytes = isContinued ? start : 0
  const counted = Readable.fromWeb(response.body).on('data', (chunk: Uint8Array) => {
    doneBytes += chunk.length
    transfer.at(doneBytes)
  })
  await pipeline(counted, createWriteStream(part, { flags: isContinued ? 'a' : 'w' }), { signal })
  if (doneBytes !== size) throw new CliError(`The download ended after ${doneBytes} of ${size} bytes.`)
}

async function digestOf(path: string, expected: string, signal: AbortSignal): Promise<string> {
  const name = expected.slice(0, expected.lastIndexOf('_'))
  const algorithm = ALGORITHMS.get(name)
  if (!algorithm)
    throw new CliError(`Found the digest ${expected}, expected ${[...ALGORITHMS.keys()].join(', ')}.`)
  const hash = createHash(algorithm)
  await pipeline(createReadStream(path, { highWaterMark: READ_BYTES }), hash, { signal })
  return `${name}_${hash.digest('hex')}`
}

/** Size of a file; 0 if it does not exist. */
async function lengthOf(path: string): Promise<number> {
  return stat(path).then(
    found => found.size,
    () => 0,
  )
}
