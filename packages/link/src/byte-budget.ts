/** Memory that several half-received messages share, so that many large ones at once cannot exhaust the process. */
export class ByteBudget {
  readonly #limitBytes: number
  readonly #parent: ByteBudget | undefined
  #usedBytes = 0

  /** A budget of its own, which also counts against `parent`. */
  constructor(limitBytes: number, parent?: ByteBudget) {
    this.#limitBytes = limitBytes
    this.#parent = parent
  }

  /** Bytes taken and not released. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Takes bytes; false when there are not enough. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes) return false
    if (this.#parent !== undefined && !this.#parent.take(bytes)) return false
    this.#usedBytes += bytes
    return true
  }

  /** Gives back what take() took. */
  release(bytes: number): void {
    this.#usedBytes -= bytes
    this.#parent?.release(bytes)
  }
}
