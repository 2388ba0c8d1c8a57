import { Readable } from 'node:stream'

const PIECE_BYTES = 64 * 1024

/** Stream of `bytes` reproducible bytes in which no two chunks are the same. */
export function generated(bytes: number): Readable {
  let sent = 0
  return new Readable({
    read() {
      if (sent === bytes) return void this.push(null)
      const piece = Buffer.alloc(Math.min(PIECE_BYTES, bytes - sent), 'muster')
      if (piece.length >= 8) piece.writeDoubleBE(sent)
      sent += piece.length
      this.push(piece)
    },
  })
}
