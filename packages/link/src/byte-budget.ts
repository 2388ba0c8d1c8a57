/** Memory budget for messages that were received in part. */
export interface InputBudget {
  /** Reserves bytes. Returns false when fewer are free. */
  take(bytes: number): boolean
  /** Returns bytes that take() reserved. */
  release(bytes: number): void
}

/**
 * Memory limit shared by many messages that were received in part, so that several large ones at once cannot exhaust the
 * process.
 */
export class ByteBudget implements InputBudget {
  readonly #limitBytes: number
  readonly #parent: ByteBudget | undefined
  #usedBytes = 0

  /** Creates a budget with its own limit. Its bytes also count against `parent`. */
  constructor(limitBytes: number, parent?: ByteBudget) {
    this.#limitBytes = limitBytes
    this.#parent = parent
  }

  /** Bytes reserved and not yet released. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Reserves bytes. Returns false when fewer are free here or in the parent. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes) return false
    if (this.#parent !== undefined && !this.#parent.take(bytes)) return false
    this.#usedBytes += bytes
    return true
  }

  /** Returns bytes that take() reserved. */
  release(bytes: number): void {
    this.#usedBytes -= bytes
    this.#parent?.release(bytes)
  }
}
