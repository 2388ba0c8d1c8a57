import { createHash, type Hash } from 'node:crypto'

const ALGORITHMS: Record<string, string> = { sha256: 'sha256', sha512_256: 'sha512-256', sha512: 'sha512' }

/** Registered size and digest of a blob. The digest is in canonical form (docs/api.md 1.7). */
export type Expected = { sizeBytes: number; digest: string }

/** Thrown when bytes do not have the registered size or digest. The message states the difference. */
export class WrongBytes extends Error {
  override readonly name = 'WrongBytes'
}

/** Hashes bytes as they pass, and compares them with the registered size and digest at the end. */
export class Digester {
  readonly #expected: Expected
  readonly #sha256 = createHash('sha256')
  /** Hash with the registered algorithm, if that is not SHA-256. */
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

  /** Returns the SHA-256 of all bytes. Throws `WrongBytes` if size or digest is wrong. May be called once only. */
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

/** Returns the hex part of a SHA-256 digest, or undefined for another algorithm. */
export function sha256Of(digest: string): string | undefined {
  return /^sha256_([0-9a-f]{64})$/.exec(digest)?.[1]
}
