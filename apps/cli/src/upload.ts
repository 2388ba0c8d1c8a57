import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { ActionError, errorOf } from '@muster/actions/client'
import { connectionsVia, type SiteProxy } from '@muster/link/site-proxy'
import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliError } from './errors.ts'
import type { Transfer } from './progress.ts'
import { retry } from './retry.ts'
import { trustSystemAuthorities } from './trust.ts'

/** Size of one read of the uploaded file, in bytes. Large reads keep both the disk and the hash computation busy. */
const READ_BYTES = 1024 * 1024
/** Timeout of the transfer of one blob, in milliseconds (docs/protocol.md 7.5). */
const TRANSFER_TIMEOUT_MS = 2 * 60 * 60 * 1000
/** Timeout without progress, in milliseconds. It is long because the hub hashes large files before it answers. */
const STALL_MS = 120_000

/** The hub's record of an uploaded blob, and whether the upload created it. */
export type Uploaded = {
  assetId: string
  result: 'Created' | 'AssetAlreadyExists'
  size: number
  digest: string
}

/**
 * Uploads a file into a repository as a blob. If the hub already has a blob with the same bytes, they are not sent again. An
 * interrupted transfer is repeated. The hub verifies size and digest before the blob becomes available (docs/protocol.md 7.5).
 */
export async function upload(
  context: CommandContext,
  command: Command,
  {
    repositoryId,
    path,
    transferOf,
  }: { repositoryId: string; path: string; transferOf: (size: number) => Transfer },
): Promise<Uploaded> {
  const { invoke, signal } = context
  const { size, digest } = await digestOf(path, signal)
  const transfer = transferOf(size)
  const { result, assetId } = await invoke(command, 'repositories_CreateAsset', {
    repositoryId,
    size,
    digest,
  })
  const uploaded: Uploaded = { assetId, result, size, digest }
  if (result === 'AssetAlreadyExists' && (await isThere(context, command, assetId))) {
    transfer.end('already there')
    return uploaded
  }
  let isFirst = true
  await retry(async () => {
    // An earlier attempt may have succeeded although its response was lost.
    if (!isFirst && (await isThere(context, command, assetId))) return
    isFirst = false
    const { url, verifiedUrl, headers } = await invoke(command, 'repositories_IssueAssetUploadUrl', {
      assetId,
    })
    const target = verifiedUrl ?? url
    const proxy = await context.proxyTo(command, target)
    await put(target, headers ?? {}, { path, size, transfer, signal, proxy })
    if (verifiedUrl) await invoke(command, 'repositories_FinalizeAssetUpload', { assetId })
  }, signal)
  transfer.end('uploaded')
  return uploaded
}

/** True if the hub has all bytes of a blob. If the hub has not verified them yet, this call makes it verify them. */
async function isThere({ invoke }: CommandContext, command: Command, assetId: string): Promise<boolean> {
  const { status } = await invoke(command, 'repositories_GetAssetDetails', { assetId })
  if (status === 'Available') return true
  try {
    await invoke(command, 'repositories_FinalizeAssetUpload', { assetId })
    return true
  } catch (error) {
    if (error instanceof ActionError && error.kind === 'Invalid') return false
    throw error
  }
}

async function digestOf(path: string, signal: AbortSignal): Promise<{ size: number; digest: string }> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new CliError(`Found no readable file (${cause.code}).`, { cause, isFinal: true })
  })
  if (!found.isFile()) throw new CliError('Found something other than a file.', { isFinal: true })
  const hash = createHash('sha256')
  let size = 0
  const file = createReadStream(path, { highWaterMark: READ_BYTES })
  file.on('data', chunk => {
    size += chunk.length
  })
  await pipeline(file, hash, { signal })
  return { size, digest: `sha256_${hash.digest('hex')}` }
}

/** Sends a file by HTTP PUT, with backpressure from the server. Rejects with `ActionError` for an unsuccessful response. */
async function put(
  url: string,
  headers: Record<string, string>,
  {
    path,
    size,
    transfer,
    signal,
    proxy,
  }: { path: string; size: number; transfer: Transfer; signal: AbortSignal; proxy: SiteProxy | undefined },
): Promise<void> {
  trustSystemAuthorities(url, proxy?.url)
  const isTls = new URL(url).protocol === 'https:'
  const send = isTls ? requestHttps : requestHttp
  const request = send(url, {
    method: 'PUT',
    headers: { ...headers, 'content-length': size },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TRANSFER_TIMEOUT_MS)]),
    ...(proxy && { createConnection: connectionsVia({ proxy, signal }, isTls) }),
  })
  request.setTimeout(STALL_MS, () =>
    request.destroy(new CliError(`The upload made no progress for ${STALL_MS / 1000} s.`)),
  )
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    // This listener is not removed after the response. A server may respond early and abort the upload. The resulting EPIPE must not end
    // the process, because the response explains the failure better.
    request.on('error', reject)
  })
  let sentBytes = 0
  const file = createReadStream(path, { highWaterMark: READ_BYTES, ...(size > 0 && { end: size - 1 }) })
  file.on('data', chunk => {
    sentBytes += chunk.length
    transfer.at(sentBytes)
  })
  file.once('error', error => request.destroy(error))
  file.once('end', () => {
    if (sentBytes !== size)
      request.destroy(
        new ActionError('Invalid', `Found ${sentBytes} bytes instead of ${size}: the file changed.`),
      )
  })
  file.pipe(request)
  try {
    const response = await answered
    const status = response.statusCode ?? 0
    const body = await text(response).catch(() => '')
    // A redirect counts as a failure, because a server that redirects has not stored anything.
    if (status >= 300)
      throw await errorOf(
        new Response(body || null, {
          status,
          statusText: response.statusMessage ?? '',
          headers: { 'retry-after': response.headers['retry-after'] ?? '' },
        }),
      )
  } finally {
    file.destroy()
    // A server that refuses early may leave the connection open, so the client closes it.
    request.destroy()
  }
}
