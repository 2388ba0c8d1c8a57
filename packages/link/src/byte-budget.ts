/** Memory budget for partially received messages. */
export interface InputBudget {
  /** Reserves bytes. Returns false when fewer bytes are free. */
  take(bytes: number): boolean
  /** Frees bytes that take() reserved. */
  release(bytes: number): void
}

/** Memory limit shared by many partially received messages, so that many large messages cannot exhaust the memory. */
export class ByteBudget implements InputBudget {
  readonly #limitBytes: number
  readonly #parent: ByteBudget | undefined
  #usedBytes = 0

  /** Creates a budget with its own limit. Bytes reserved here also count against `parent`. */
  constructor(limitBytes: number, parent?: ByteBudget) {
    this.#limitBytes = limitBytes
    this.#parent = parent
  }

  /** Number of bytes reserved and not yet released. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Reserves bytes. Returns false when fewer bytes are free here or in the parent. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes) return false
    if (this.#parent !== undefined && !this.#parent.take(bytes)) return false
    this.#usedBytes += bytes
    return true
  }

  /** Frees bytes that take() reserved, here and in the parent. */
  release(bytes: number): void {
    this.#usedBytes -= bytes
    this.#parent?.release(bytes)
  }
}
