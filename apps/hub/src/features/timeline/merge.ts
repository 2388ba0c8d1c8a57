import type { TimelineKind } from '@muster/actions'
import { untilSpent } from './budget.ts'
import type { ConnectionSourceRow } from './connection-source.ts'
import type { EventSourceRow } from './event-source.ts'
import type { At, Place } from './place.ts'
import type { PropertySourceRow } from './property-source.ts'
import type { Source, SourceRow } from './source.ts'
import type { TagSourceRow } from './tag-source.ts'

/** Sources of a timeline. The connections are always read, because each entry says whether the device was connected. */
export type Sources = {
  connection: Source<ConnectionSourceRow>
  event?: Source<EventSourceRow>
  property?: Source<PropertySourceRow>
  tag?: Source<TagSourceRow>
  audit?: Source
}

/** A row of a timeline with the name of its source. */
export type Read = {
  [N in keyof Sources]-?: {
    source: N
    row: NonNullable<Sources[N]> extends Source<infer Row> ? Row : never
    isConnected: boolean | undefined
  }
}[keyof Sources]

type Page = {
  reads: Read[]
  counts: Record<TimelineKind, number>
  /** Whether all rows back to `since` were read. */
  isWhole: boolean
  /** Whether the budget was spent before the call had read everything it needed. */
  isSpent: boolean
  /** Whether a further row of the page's kinds was read after the page was full. Always false without `readsOn`. */
  hasMore: boolean
  /** Place of the last row that was read, whether it is on the page or not. */
  last: Place | undefined
}

type Wishes = {
  limit: number
  since: At | undefined
  /** Whether to continue reading after the page is full, in order to count all entries. */
  readsOn: boolean
  isMatch: (row: SourceRow) => boolean
  isOnPage: (row: SourceRow) => boolean
}

/** Number of rows that the first read of a source asks for; further reads ask for twice as many, up to `LARGEST_CHUNK`. */
const FIRST_CHUNK = 64
const LARGEST_CHUNK = 2_048

/** Merges the rows of the sources, newest first, into a page. Ends early when the budget of the sources is spent. */
export async function readPage(
  sources: Sources,
  { limit, since, readsOn, isMatch, isOnPage }: Wishes,
): Promise<Page> {
  const connections = new Buffered('connection', sources.connection)
  const { connection: _, ...others } = sources
  const all = [
    connections,
    ...Object.entries(others).map(([name, source]) => new Buffered(name as keyof Sources, source)),
  ]
  const page: Page = {
    reads: [],
    counts: { event: 0, connection: 0, property: 0, certificate: 0, person: 0 },
    isWhole: false,
    isSpent: false,
    hasMore: false,
    last: undefined,
  }
  let isFull = false
  const reachedEnd = await untilSpent(async () => {
    while (readsOn || !isFull) {
      for (const buffered of all) await buffered.fill()
      const next = newestOf(all, since)
      if (!next) return
      const row = next.take()
      page.last = { at: row.at, rank: next.rank, id: row.id }
      if (!isMatch(row)) continue
      page.counts[row.kind]++
      if (!isOnPage(row)) continue
      if (isFull) {
        page.hasMore = true
        continue
      }
      const change = next === connections ? (row as ConnectionSourceRow).change : connections.head?.change
      const isConnected = change && change.type === 'connected'
      page.reads.push({ source: next.name, row, isConnected } as Read)
      isFull = page.reads.length === limit
    }
  })
  page.isSpent = !reachedEnd
  page.isWhole = reachedEnd && (readsOn || !isFull)
  return page
}

function newestOf(all: readonly Buffered[], since: At | undefined): Buffered | undefined {
  let newest: Buffered | undefined
  for (const buffered of all) {
    const { head } = buffered
    // Only the connections have rows before `since`.
    if (!head || (since !== undefined && head.at < since)) continue
    const first = newest?.head
    if (!first || head.at > first.at || (head.at === first.at && buffered.rank < newest!.rank))
      newest = buffered
  }
  return newest
}

/** A source with the rows that were read and not taken yet. */
class Buffered<Row extends SourceRow = ConnectionSourceRow> {
  readonly name: keyof Sources
  readonly rank: number
  readonly #source: Source<Row>
  #rows: Row[] = []
  #taken = 0
  #isEnd = false
  #chunk = FIRST_CHUNK

  constructor(name: keyof Sources, source: Source<SourceRow>) {
    this.name = name
    this.rank = source.rank
    this.#source = source as Source<Row>
  }

  /** Newest row that was not taken; undefined at the end. `fill` must have been called. */
  get head(): Row | undefined {
    return this.#rows[this.#taken]
  }

  async fill(): Promise<void> {
    if (this.#isEnd || this.#taken < this.#rows.length) return
    const { rows, isEnd } = await this.#source.next(this.#chunk)
    this.#chunk = Math.min(2 * this.#chunk, LARGEST_CHUNK)
    this.#rows = rows
    this.#taken = 0
    this.#isEnd = isEnd
  }

  take(): Row {
    return this.#rows[this.#taken++]!
  }
}
