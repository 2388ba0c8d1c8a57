import { createHash, type Hash } from 'node:crypto'

const ALGORITHMS: Record<string, string> = { sha256: 'sha256', sha512_256: 'sha512-256', sha512: 'sha512' }

/** What a blob was registered as: its size in bytes and its digest in canonical form (catalogue 1.7). */
export type Expected = { sizeBytes: number; digest: string }

/** Says that bytes are not those that were registered; the message says how. */
export class WrongBytes extends Error {
  override readonly name = 'WrongBytes'
}

/** Hashes bytes as they pass, and compares them at their end with what was registered. */
export class Digester {
  readonly #expected: Expected
  readonly #sha256 = createHash('sha256')
  /** The algorithm that it was registered with where that is another. */
  readonly #other: Hash | undefined
  #sizeBytes = 0

  constructor(expected: Expected) {
    this.#expected = expected
    const algorithm = expected.digest.slice(0, expected.digest.lastIndexOf('_'))
    if (algorithm !== 'sha256') this.#other = createHash(ALGORITHMS[algorithm]!)
  }

  update(chunk: Uint8Array): void {
    this.#sizeBytes += chunk.length
    this.#sha256.update(chunk)
    this.#other?.update(chunk)
  }

  /** The SHA-256 of all that passed; throws `WrongBytes` when it is not what was registered. Ends the digester. */
  finish(): Buffer {
    const { sizeBytes, digest } = this.#expected
    if (this.#sizeBytes !== sizeBytes)
      throw new WrongBytes(`Found ${this.#sizeBytes} bytes, expected ${sizeBytes}.`)
    const sha256 = this.#sha256.digest()
    const algorithm = digest.slice(0, digest.lastIndexOf('_'))
    const found = `${algorithm}_${(this.#other?.digest() ?? sha256).toString('hex')}`
    if (found !== digest) throw new WrongBytes(`Found bytes with the digest ${found}, expected ${digest}.`)
    return sha256
  }
}

/** The SHA-256 in a digest, if it is one. */
export function sha256Of(digest: string): string | undefined {
  return /^sha256_([0-9a-f]{64})$/.exec(digest)?.[1]
}
