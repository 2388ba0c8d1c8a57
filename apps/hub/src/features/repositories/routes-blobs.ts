import { ActionError } from '@muster/actions'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refusal } from '../../platform/access/authorize.ts'
import { replyWithFile } from '../../platform/http/send-file.ts'
import type { Route } from '../../platform/http/server.ts'
import { liftTimeLimit } from '../../platform/net/time-limit.ts'
import { actorId } from '../../platform/pipeline/caller.ts'
import { callerOfRequest } from '../../platform/sessions/request-caller.ts'
import { findAsset, sha256HexOf } from '../../platform/storage/assets.ts'
import type { BlobGrant } from '../../platform/storage/blob-urls.ts'
import { resolvePath } from './repositories.ts'

/**
 * Time for which the rest of a refused body is read and dropped, in milliseconds. A client often reads the response only after it has sent
 * its body.
 */
const LINGER_MS = 1_000

type Query = Record<string, unknown>
type Blob = { assetId: string }
type Path = { repository: string; package: string; tag: string; '*': string }

/** Sends the bytes of a blob to the holder of a URL that the hub signed (docs/api.md 4.7). */
export const download: Route = core => ({
  async handler(request, reply) {
    const { blobs, blobUrls, shares } = core()
    const { assetId } = request.params as Blob
    const { sha256, filename, expires } = blobUrls.check(['download'], assetId, request.query as Query)
    shares.takeFile(request.remote, reply.raw)
    await replyWithFile(request, reply, {
      path: blobs.pathOf(assetId),
      sha256: sha256!,
      filename: filename ?? assetId,
      isPublic: false,
      cachedUntil: expires,
    })
  },
})

/** Sends a file of a package version by its path, to whoever may read the repository (docs/api.md 1.3). */
export const fileByPath: Route = (core, cookie) => ({
  async handler(request, reply) {
    const { db, sessions, blobs, shares } = core()
    const caller = await callerOfRequest(request, sessions, cookie)
    request.note = { actorId: actorId(caller) }
    const { '*': filename, ...path } = request.params as Path
    const found = await resolvePath(db, caller, { ...path, filename })
    // The response is the same whether or not the repository exists, so that its existence is not revealed.
    if (!found) throw refusal(caller.actor === 'Anonymous' ? 401 : 403)
    const asset = found.assetId === null ? undefined : await findAsset(db, found.assetId)
    if (asset?.status !== 'Available')
      throw new ActionError('Invalid', 'There is no such file.', { status: 404 })
    if (asset.storeId !== null)
      return reply
        .header('cache-control', 'no-store')
        .header('x-content-sha256', sha256HexOf(asset))
        .redirect(await blobs.downloadUrl(db, asset, filename), 302)
    shares.takeFile(request.remote, reply.raw)
    return replyWithFile(request, reply, {
      path: blobs.pathOf(asset.assetId),
      sha256: sha256HexOf(asset),
      filename,
      isPublic: caller.actor === 'Anonymous',
    })
  },
})

/** Takes the bytes of a blob from the holder of a URL that the hub signed (docs/api.md 4.7). `BlobUploads.receive` streams them. */
export const upload: Route = core => ({
  streamsBody: true,
  async handler(request, reply) {
    try {
      const { blobs, blobUrls } = core()
      const purposes: BlobGrant['purpose'][] = ['upload', 'verified-upload']
      const grant = blobUrls.check(purposes, (request.params as Blob).assetId, request.query as Query)
      // `BlobUploads.receive` has its own limits for slow and stalled uploads.
      liftTimeLimit(request.raw)
      await blobs.uploads.receive(grant, request.raw)
    } catch (error) {
      core().shares.report(error)
      closeAfterAnswer(request, reply)
      throw error
    }
    return reply.code(200).send()
  },
})

/** Ends the connection after the response. Otherwise the unread rest of the body would be parsed as the next request. */
function closeAfterAnswer({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.readableEnded) return
  reply.header('connection', 'close')
  raw.on('error', () => {})
  raw.resume()
  const timer = setTimeout(() => raw.destroy(), LINGER_MS)
  raw.once('close', () => clearTimeout(timer))
}
