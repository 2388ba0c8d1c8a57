import type { InputBudget } from './byte-budget.ts'
import { emptyBytes } from './bytes.ts'
import { EXECUTOR } from './executor-format.ts'
import { FieldReader } from './field-reader.ts'
import { readU32 } from './frames.ts'

/**
 * Result of next(): a complete request; a request whose input was dropped for lack of memory; a header over the limits,
 * after which the stream cannot be parsed; or too few bytes.
 */
export type RequestStep = 'Request' | 'Dropped' | 'OverLimit' | 'NeedMore'

type Stage = 'NameLength' | 'Name' | 'InputLength' | 'Input'

/** Reassembles executor requests from pieces that are split at any byte (docs/protocol.md 2.6, 3.2). */
export class RequestReader {
  /** Name and input of the last request; the input may be a view of a fed piece. */
  name: Uint8Array = emptyBytes()
  input: Uint8Array = emptyBytes()
  readonly #fields: FieldReader
  #stage: Stage = 'NameLength'
  #length = 0

  constructor(budget: InputBudget) {
    this.#fields = new FieldReader(budget)
  }

  /** True between two requests with no unread byte. */
  get isIdle(): boolean {
    return this.#stage === 'NameLength' && !this.#fields.hasRest
  }

  /** True when the next bytes start a request. */
  get isBetweenRequests(): boolean {
    return this.#stage === 'NameLength'
  }

  /** Adds the next piece, after next() returned NeedMore. */
  feed(piece: Uint8Array): void {
    this.#fields.feed(piece)
  }

  /** Parses the next request. */
  next(): RequestStep {
    const fields = this.#fields
    for (;;) {
      switch (this.#stage) {
        case 'NameLength': {
          const field = fields.take(2)
          if (field === undefined) return 'NeedMore'
          this.#length = (field[0]! << 8) | field[1]!
          if (this.#length > EXECUTOR.maxNameBytes) return 'OverLimit'
          this.#stage = 'Name'
          break
        }
        case 'Name': {
          const field = fields.take(this.#length)
          if (field === undefined) return 'NeedMore'
          this.name = field
          this.#stage = 'InputLength'
          break
        }
        case 'InputLength': {
          const field = fields.take(4)
          if (field === undefined) return 'NeedMore'
          this.#length = readU32(field, 0)
          if (this.#length > EXECUTOR.maxInputBytes) return 'OverLimit'
          this.#stage = 'Input'
          break
        }
        case 'Input': {
          const field = fields.take(this.#length)
          if (field === undefined) return 'NeedMore'
          this.input = field
          this.#stage = 'NameLength'
          return fields.isStarved ? 'Dropped' : 'Request'
        }
      }
    }
  }

  /** Drops the last request and its memory. */
  release(): void {
    this.name = emptyBytes()
    this.input = emptyBytes()
    this.#fields.release()
  }

  /** Drops all buffered bytes. */
  clear(): void {
    this.release()
    this.#fields.clear()
  }
}
