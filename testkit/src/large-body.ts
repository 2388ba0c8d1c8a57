import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

/** A body of `bytes` bytes, a multiple of 64 KiB, whose pieces all differ. */
export function largeBody(bytes: number): Readable {
  const piece = Buffer.alloc(64 * 1024, 'muster')
  let sent = 0
  return new Readable({
    read() {
      if (sent === bytes) return void this.push(null)
      const copy = Buffer.from(piece)
      copy.writeDoubleBE(sent)
      sent += copy.length
      this.push(copy)
    },
  })
}

/** SHA-1 of a stream as hexadecimal digits. */
export async function hashOfStream(stream: Readable): Promise<string> {
  const hash = createHash('sha1')
  for await (const bytes of stream) hash.update(bytes as Buffer)
  return hash.digest('hex')
}
