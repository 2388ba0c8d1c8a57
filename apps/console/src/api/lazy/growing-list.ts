import { useState } from 'react'

/** Number of new entries that are not shown until the user asks for them. `isMore` is true if the hub may have more new entries. */
export type NewEntries = { count: number; isMore: boolean }

/** A page of a list whose entries never change their place: newest first, with a cursor for older entries. */
export type GrowingPage<Entry> = {
  entries: readonly Entry[]
  nextCursor?: string | undefined
  /** Objects whose ids occur in the entries, by id. */
  subjects?: Record<string, unknown> | undefined
}

type Kept<Entry, Page> = {
  /** Key of the list to which these pages belong. */
  key: string
  /** Last answer for the first page. */
  first: Page
  /** Page that was loaded last at the end of the list. */
  last: Page
  /** Entries on screen. */
  shown: readonly Entry[]
  /** Entries that are newer than the entries on screen, newest first. */
  newer: readonly Entry[]
  /** Whether entries between `newer` and `shown` may be missing, because the first page contains none of the entries on screen. */
  hasGap: boolean
  subjects: Record<string, unknown>
}

type Options<Entry, Page> = {
  /** Identifies the list. When the key changes, the list starts over with the first page. */
  key: string
  /** Latest answer for the first page, the same object until a new answer arrives. */
  first: Page | undefined
  idOf: (entry: Entry) => string
  /** Loads the page of older entries at a cursor. */
  load: (cursor: string) => Promise<Page>
  /** Whether the newest entries are in view. New entries are then shown immediately. */
  isAtNewest?: () => boolean
}

/**
 * A list that only grows at its beginning, such as a log: the first page, which its query keeps up to date, and older pages that were
 * loaded. No entry is ever inserted between older entries, so older pages are never loaded again. New entries wait in `waiting`, so that
 * the rows do not move under the reader.
 */
export function useGrowingList<Entry, Page extends GrowingPage<Entry>>({
  key,
  first,
  idOf,
  load,
  isAtNewest = () => false,
}: Options<Entry, Page>) {
  const [kept, setKept] = useState<Kept<Entry, Page>>()
  const [more, setMore] = useState<{ key: string; isLoading: boolean; error?: unknown }>()
  if (first && (kept?.key !== key || kept.first !== first)) {
    const next = withFirst(kept, key, first, idOf)
    setKept(isAtNewest() ? withNewer(next, idOf) : next)
  }
  const isCurrent = kept?.key === key
  const cursor = isCurrent ? kept.last.nextCursor : undefined

  async function loadMore(): Promise<void> {
    if (cursor === undefined || (more?.key === key && more.isLoading)) return
    setMore({ key, isLoading: true })
    try {
      const page = await load(cursor)
      setKept(now => (now?.key === key && now.last.nextCursor === cursor ? withOlder(now, page, idOf) : now))
      setMore(undefined)
    } catch (error) {
      setMore({ key, isLoading: false, error })
    }
  }

  return {
    /** State of the list, with the entries on screen. After a change of `key`, the state of the previous list until `first` arrives. */
    kept,
    /** Whether `kept` belongs to the current key. */
    isCurrent,
    waiting:
      isCurrent && kept.newer.length > 0
        ? ({ count: kept.newer.length, isMore: kept.hasGap } satisfies NewEntries)
        : undefined,
    showNew: () => setKept(now => now && withNewer(now, idOf)),
    /** Shows an answer for the first page with its new entries. */
    showFirst: (page: Page) => setKept(now => withNewer(withFirst(now, key, page, idOf), idOf)),
    hasMore: cursor !== undefined,
    loadMore,
    isLoadingMore: more?.key === key && more.isLoading,
    moreError: more?.key === key ? more.error : undefined,
  }
}

/** Merges an answer for the first page into the list: updates entries that are on screen, and puts new entries into `newer`. */
function withFirst<Entry, Page extends GrowingPage<Entry>>(
  kept: Kept<Entry, Page> | undefined,
  key: string,
  first: Page,
  idOf: (entry: Entry) => string,
): Kept<Entry, Page> {
  const { entries, subjects = {} } = first
  if (kept?.key !== key || kept.shown.length === 0)
    return { key, first, last: first, shown: entries, newer: [], hasGap: false, subjects }
  const latest = new Map(entries.map(entry => [idOf(entry), entry]))
  const known = new Set(kept.shown.map(idOf))
  return {
    ...kept,
    first,
    // Replaces entries on screen by their latest version. Its content may differ, for example after a person is renamed.
    shown: kept.shown.map(entry => latest.get(idOf(entry)) ?? entry),
    newer: entries.filter(entry => !known.has(idOf(entry))),
    hasGap: !entries.some(entry => known.has(idOf(entry))),
    subjects: { ...kept.subjects, ...subjects },
  }
}

/** Shows the new entries. If entries between the new and the shown entries may be missing, the list restarts with the first page. */
function withNewer<Entry, Page extends GrowingPage<Entry>>(
  kept: Kept<Entry, Page>,
  idOf: (entry: Entry) => string,
): Kept<Entry, Page> {
  const { first, shown, newer, hasGap } = kept
  if (hasGap) return { ...kept, last: first, shown: first.entries, newer: [], hasGap: false }
  const ids = new Set(newer.map(idOf))
  return { ...kept, shown: [...newer, ...shown.filter(entry => !ids.has(idOf(entry)))], newer: [] }
}

function withOlder<Entry, Page extends GrowingPage<Entry>>(
  kept: Kept<Entry, Page>,
  page: Page,
  idOf: (entry: Entry) => string,
): Kept<Entry, Page> {
  const known = new Set(kept.shown.map(idOf))
  return {
    ...kept,
    last: page,
    shown: [...kept.shown, ...page.entries.filter(entry => !known.has(idOf(entry)))],
    subjects: { ...kept.subjects, ...page.subjects },
  }
}
