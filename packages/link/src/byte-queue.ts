// Pieces below this size in bytes are merged by copying, which is cheaper than keeping an array object for each piece.
const COPY_BELOW = 2048
const TAIL_BYTES = 4096
// A larger piece is copied as well if a view would keep alive a socket buffer of more than 4 times its size.
const MAX_RETAINED = 4

/**
 * First-in, first-out queue of bytes. Small pieces are copied together. Large pieces are kept as views, so the caller
 * must not change an array after push().
 */
export class ByteQueue {
  /** Number of bytes in the queue. */
  length = 0
  /** Number of pushes, one per received frame, merged into the piece that shift() returned last. */
  shiftedPushes = 0
  #pieces: Uint8Array[] = []
  #pushes: number[] = []
  #head = 0
  // Number of bytes of the first piece that copyTo() has consumed.
  #taken = 0
  #tail: Uint8Array | undefined
  #tailUsed = 0
  #tailPushes = 0

  push(bytes: Uint8Array): void {
    this.length += bytes.length
    if (bytes.length < COPY_BELOW) {
      if (this.#tail !== undefined && this.#tailUsed + bytes.length > this.#tail.length) this.#seal()
      this.#tail ??= new Uint8Array(TAIL_BYTES)
      this.#tail.set(bytes, this.#tailUsed)
      this.#tailUsed += bytes.length
      this.#tailPushes++
    } else {
      this.#seal()
      const isWasteful = bytes.length * MAX_RETAINED < bytes.buffer.byteLength
      this.#pieces.push(isWasteful ? new Uint8Array(bytes) : bytes)
      this.#pushes.push(1)
    }
  }

  /** Removes and returns the first piece, whose size the queue chose (see `COPY_BELOW`). Returns undefined if the queue is empty. */
  shift(): Uint8Array | undefined {
    if (this.#head === this.#pieces.length) this.#seal()
    const first = this.#pieces[this.#head]
    if (first === undefined) return undefined
    const piece = this.#taken === 0 ? first : first.subarray(this.#taken)
    this.shiftedPushes = this.#pushes[this.#head]!
    this.length -= piece.length
    this.#dropFirst()
    return piece
  }

  /** Moves up to `length` bytes from the queue into `target` at `offset`. The bytes may come from several pieces. */
  copyTo(target: Uint8Array, offset: number, length: number): void {
    const end = offset + Math.min(length, this.length)
    this.length -= end - offset
    while (offset < end) {
      if (this.#head === this.#pieces.length) this.#seal()
      const first = this.#pieces[this.#head]!
      const left = first.length - this.#taken
      const count = Math.min(left, end - offset)
      target.set(count === first.length ? first : first.subarray(this.#taken, this.#taken + count), offset)
      offset += count
      if (count === left) this.#dropFirst()
      else this.#taken += count
    }
  }

  #seal(): void {
    if (this.#tail === undefined) return
    this.#pieces.push(this.#tail.subarray(0, this.#tailUsed))
    this.#pushes.push(this.#tailPushes)
    this.#tail = undefined
    this.#tailUsed = 0
    this.#tailPushes = 0
  }

  #dropFirst(): void {
    this.#taken = 0
    this.#head++
    if (this.#head === this.#pieces.length) {
      this.#pieces.length = 0
      this.#pushes.length = 0
      this.#head = 0
    } else if (this.#head >= 64 && this.#head * 2 >= this.#pieces.length) {
      this.#pieces.splice(0, this.#head)
      this.#pushes.splice(0, this.#head)
      this.#head = 0
    }
  }
}
