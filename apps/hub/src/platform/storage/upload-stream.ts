import type { Readable, Writable } from 'node:stream'

/** Thrown when the client disconnects before the end of its upload. */
export class UploadCut extends Error {
  override readonly name = 'UploadCut'
}

/**
 * Pipes until the end of the source. Unlike `stream.pipeline`, leaves the source open when the sink fails, so that the client still
 * gets a response.
 */
export function pipeUpload(source: Readable, sink: Writable, signal: AbortSignal): Promise<void> {
  return new Promise<void>((done, failed) => {
    if (signal.aborted) return failed(signal.reason)
    signal.addEventListener('abort', () => failed(signal.reason), { once: true })
    const cut = (): void => {
      if (!source.readableEnded) failed(new UploadCut('The upload was cut off.'))
    }
    if (source.destroyed) return cut()
    source.once('error', cut)
    source.once('close', cut)
    sink.once('error', failed)
    sink.once('finish', done)
    source.pipe(sink)
  }).finally(() => {
    source.unpipe(sink)
    sink.destroy()
  })
}

/**
 * Yields the chunks of a source. Leaves the source open when the reader stops, so that the client still gets a response. Throws
 * `UploadCut` if the client disconnects before the end.
 */
export async function* chunksOf(source: Readable): AsyncGenerator<Buffer> {
  try {
    yield* source.iterator({ destroyOnReturn: false })
  } catch (cause) {
    throw new UploadCut('The upload was cut off.', { cause })
  }
}
