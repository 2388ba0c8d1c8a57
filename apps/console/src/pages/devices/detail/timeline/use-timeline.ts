import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { useState } from 'react'
import { invoke } from '../../../../api/client.ts'
import { useActionState } from '../../../../api/queries.ts'
import type { Entry } from './entry.ts'

export type TimelineFilter = NonNullable<ActionInput<'devices_QueryTimeline'>['filter']>
type Answer = ActionOutput<'devices_QueryTimeline'>

/** Number of entries per request. */
const PAGE_SIZE = 64
/** New entries are shown at once while the page is scrolled down by less than this, in pixels. */
const AT_TOP_PX = 160

type Kept = {
  key: string
  /** Last answer for the first page. */
  answer: Answer
  entries: readonly Entry[]
  /** Entries on screen. The newest entries are missing while the reader is further down the page. */
  shown: readonly Entry[]
  nextCursor: string | undefined
  searchedBackTo: string | undefined
}

/**
 * The timeline of a device: the first page, which the live stream keeps up to date, and older pages that were loaded. Entries of the
 * past do not change, so pages are never loaded again. While the top of the page is in view, new entries appear at once. Further down
 * they wait until the reader asks for them.
 */
export function useTimeline(deviceId: string, filter: TimelineFilter) {
  const first = useActionState(
    'devices_QueryTimeline',
    { deviceId, filter, limit: PAGE_SIZE, withCounts: true },
    { keepPrevious: true },
  )
  const key = JSON.stringify([deviceId, filter])
  const [kept, setKept] = useState<Kept>()
  const [more, setMore] = useState<{ key: string; isLoading: boolean; error?: unknown }>()
  const answer = first.isPlaceholderData ? undefined : first.data
  if (answer && (kept?.key !== key || kept.answer !== answer)) setKept(join(kept, key, answer))

  async function loadMore() {
    if (!kept?.nextCursor || more?.isLoading) return
    setMore({ key, isLoading: true })
    try {
      const page = await invoke('devices_QueryTimeline', {
        deviceId,
        filter,
        limit: PAGE_SIZE,
        cursor: kept.nextCursor,
      })
      setKept(now => now && (now.key === key ? withOlder(now, page) : now))
      setMore(undefined)
    } catch (error) {
      setMore({ key, isLoading: false, error })
    }
  }

  const state = kept?.key === key ? kept : undefined
  return {
    first,
    /** `undefined` while the first page loads. */
    entries: state?.shown,
    counts: first.data?.counts,
    countedBackTo: first.data?.searchedBackTo,
    searchedBackTo: state?.searchedBackTo,
    hasMore: state?.nextCursor !== undefined,
    waiting: state ? state.entries.length - state.shown.length : 0,
    showWaiting: () => setKept(now => now && { ...now, shown: now.entries }),
    loadMore: () => void loadMore(),
    isLoadingMore: more?.key === key && more.isLoading,
    moreError: more?.key === key ? more.error : undefined,
  }
}

/**
 * Puts the answer for the first page before the known entries. Discards the known entries if the answer contains none of them, because
 * entries between them may be missing.
 */
function join(kept: Kept | undefined, key: string, answer: Answer): Kept {
  const ids = new Set(answer.entries.map(entry => entry.entryId))
  const known = kept?.key === key ? kept.entries : []
  const joins = known.some(entry => ids.has(entry.entryId))
  if (!kept || !joins) {
    const { entries, nextCursor } = answer
    return { key, answer, entries, shown: entries, nextCursor, searchedBackTo: spentAt(answer) }
  }
  const entries = [...answer.entries, ...known.filter(entry => !ids.has(entry.entryId))]
  const isAtTop = window.scrollY < AT_TOP_PX
  return { ...kept, answer, entries, shown: isAtTop ? entries : updated(kept.shown, answer) }
}

/** The entries on screen with their latest content, for example with a new name of a person. */
function updated(shown: readonly Entry[], answer: Answer): Entry[] {
  const latest = new Map(answer.entries.map(entry => [entry.entryId, entry]))
  return shown.map(entry => latest.get(entry.entryId) ?? entry)
}

function withOlder(kept: Kept, page: Answer): Kept {
  const ids = new Set(kept.entries.map(entry => entry.entryId))
  const older = page.entries.filter(entry => !ids.has(entry.entryId))
  return {
    ...kept,
    entries: [...kept.entries, ...older],
    shown: [...kept.shown, ...older],
    nextCursor: page.nextCursor,
    searchedBackTo: spentAt(page),
  }
}

/** Time back to which the hub has searched, if it stopped before the page was full. */
function spentAt({ entries, searchedBackTo }: Answer): string | undefined {
  return entries.length < PAGE_SIZE ? searchedBackTo : undefined
}
