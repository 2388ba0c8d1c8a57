import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Minimum size of a text that is compressed, in bytes. A shorter text fits into one packet anyway. */
const MIN_BYTES = 1024
/**
 * Low compression levels. They shrink a device list to about a tenth. With the highest levels the result would be 10 % smaller, for ten
 * times the CPU time.
 */
const BROTLI_QUALITY = 4
const GZIP_LEVEL = 5

const brotliOf = promisify(brotliCompress)
const gzipOf = promisify(gzip)

type Encoding = 'br' | 'gzip'

/**
 * Compresses a text in a worker thread, as `Accept-Encoding` allows. Returns undefined for a short text and for a client that
 * accepts neither Brotli nor gzip.
 */
export async function compressed(
  text: string,
  acceptEncoding: string | string[] | undefined,
): Promise<{ encoding: Encoding; bytes: Buffer } | undefined> {
  const encoding = encodingOf(String(acceptEncoding ?? ''))
  if (encoding === undefined || text.length < MIN_BYTES) return undefined
  if (encoding === 'gzip') return { encoding, bytes: await gzipOf(text, { level: GZIP_LEVEL }) }
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  }
  return { encoding, bytes: await brotliOf(text, { params }) }
}

/** The best encoding that the client accepts. A weight of 0 excludes an encoding (RFC 9110, 12.5.3). */
function encodingOf(acceptEncoding: string): Encoding | undefined {
  const accepted = new Set(
    acceptEncoding
      .toLowerCase()
      .split(',')
      .map(part => part.trim().split(/\s*;\s*/))
      .filter(([, weight]) => !/^q=0(\.0*)?$/.test(weight ?? ''))
      .map(([name]) => name),
  )
  return (['br', 'gzip'] as const).find(name => accepted.has(name))
}
