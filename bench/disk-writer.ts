// Yardstick for uploads: hashes a stream from memory, writes it to a file and syncs the file. Forked by a bench.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { answering } from './child.ts'

export type WriteLoad = { path: string; sizeBytes: number }
export type WriteRun = { secs: number }

const chunk = Buffer.alloc(64 * 1024, 7)

answering(async ({ path, sizeBytes }: WriteLoad): Promise<WriteRun> => {
  const started = performance.now()
  const hash = createHash('sha256')
  function* chunks(): Generator<Buffer> {
    for (let at = 0; at < sizeBytes; at += chunk.length) yield chunk
  }
  const hashing = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece)
      done(null, piece)
    },
  })
  const source = Readable.from(chunks(), { objectMode: false })
  await pipeline(source, hashing, createWriteStream(path, { highWaterMark: 1 << 20 }))
  const file = await open(path, 'r+')
  await file.sync()
  await file.close()
  const secs = (performance.now() - started) / 1000
  await rm(path)
  return { secs }
})
