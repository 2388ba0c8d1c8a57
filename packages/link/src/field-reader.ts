import type { InputBudget } from './byte-budget.ts'
import { emptyBytes } from './bytes.ts'

// Fields up to this size in bytes are not charged to the budget. For a larger field, the announced length alone allocates at
// most this size. The buffer grows as the bytes of the field arrive.
const FREE_BYTES = 64 * 1024

/** Reads fields of known length from a stream of pieces. A field within one piece is not copied. */
export class FieldReader {
  /** True when the budget had no room for a field, which was dropped. */
  isStarved = false
  readonly #budget: InputBudget
  #piece = emptyBytes()
  #offset = 0
  #part: Uint8Array | undefined = undefined
  #filled = 0
  #skipped = 0
  #taken = 0

  constructor(budget: InputBudget) {
    this.#budget = budget
  }

  /** Adds the next piece. All bytes of the previous piece must have been taken. */
  feed(piece: Uint8Array): void {
    this.#piece = piece
    this.#offset = 0
  }

  /** True when bytes remain that were not taken as a field. */
  get hasRest(): boolean {
    return this.#offset < this.#piece.length || this.#filled > 0 || this.#skipped > 0
  }

  /**
   * Takes the next `length` bytes. Returns undefined if they have not all arrived; then call feed() with the next piece, and take() again
   * with the same length.
   */
  take(length: number): Uint8Array | undefined {
    const available = this.#piece.length - this.#offset
    if (this.isStarved) return this.#skip(length, available)
    if (this.#part === undefined && available >= length) {
      const field = this.#piece.subarray(this.#offset, this.#offset + length)
      this.#advance(length)
      return field
    }
    const count = Math.min(available, length - this.#filled)
    if (count === 0) return undefined
    const part = this.#room(length, this.#filled + count)
    if (part === undefined) return this.#starve(length, available)
    part.set(this.#piece.subarray(this.#offset, this.#offset + count), this.#filled)
    this.#advance(count)
    this.#filled += count
    if (this.#filled < length) return undefined
    this.#part = undefined
    this.#filled = 0
    return part
  }

  /** Releases the memory of the last large fields to the budget. Their bytes must not be used afterwards. */
  release(): void {
    if (this.#taken > 0) this.#budget.release(this.#taken)
    this.#taken = 0
    this.isStarved = false
  }

  /** Drops all buffered bytes and releases the budget. */
  clear(): void {
    this.release()
    this.feed(emptyBytes())
    this.#part = undefined
    this.#filled = 0
    this.#skipped = 0
  }

  #advance(count: number): void {
    this.#offset += count
    // Drop the reference to the last message, so that an idle channel does not keep it alive.
    if (this.#offset === this.#piece.length) this.feed(emptyBytes())
  }

  #room(length: number, needed: number): Uint8Array | undefined {
    const part = this.#part
    if (part !== undefined && part.length >= needed) return part
    const size = Math.min(length, Math.max(needed, (part?.length ?? 0) * 2, Math.min(length, FREE_BYTES)))
    const charge = Math.max(0, size - FREE_BYTES) - this.#taken
    if (charge > 0) {
      if (!this.#budget.take(charge)) return undefined
      this.#taken += charge
    }
    const larger = new Uint8Array(size)
    if (part !== undefined) larger.set(part.subarray(0, this.#filled))
    this.#part = larger
    return larger
  }

  #starve(length: number, available: number): Uint8Array | undefined {
    this.#skipped = this.#filled
    this.#part = undefined
    this.#filled = 0
    this.release()
    this.isStarved = true
    return this.#skip(length, available)
  }

  #skip(length: number, available: number): Uint8Array | undefined {
    const count = Math.min(available, length - this.#skipped)
    this.#advance(count)
    this.#skipped += count
    if (this.#skipped < length) return undefined
    this.#skipped = 0
    return emptyBytes()
  }
}
