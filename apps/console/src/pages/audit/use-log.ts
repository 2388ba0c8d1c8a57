import type { ActionOutput } from '@muster/actions/client'
import { useMemo, useState } from 'react'
import { invoke } from '../../api/client.ts'
import { useActionState } from '../../api/queries.ts'
import { LOG_PAGE_SIZE } from './audit-params.ts'
import type { Entry, Sealing, Subjects } from './sentences/entry.ts'

/** Query actions of the logs. */
export type LogAction =
  | 'audit_QueryAuditLogEvents'
  | 'organizations_QueryAuditLog'
  | 'projects_QueryAuditLog'
  | 'repositories_QueryAuditLog'
  | 'devices_QueryAuditLog'
  | 'audit_QueryAuditLogActions'

type Answer = ActionOutput<'audit_QueryAuditLogEvents'>
type ActionsAnswer = ActionOutput<'audit_QueryAuditLogActions'>

/** New entries that wait until the reader asks for them. `isMore` is true if there may be more than the hub has answered. */
export type NewEntries = { count: number; isMore: boolean }

type Kept = {
  /** Action and input of the list. Entries of another list are shown until the answer for the new list has arrived. */
  key: string
  /** Action and resource of the list. */
  logKey: string
  /** Last answer for the first page. */
  answer: Answer
  shown: readonly Entry[]
  /** Entries that are newer than those on screen, newest first. */
  newer: readonly Entry[]
  /** Whether entries between `newer` and `shown` may be missing, because the first page contains none of the entries on screen. */
  hasGap: boolean
  subjects: Subjects
  nextCursor: string | undefined
}

/**
 * Entries of a log: the first page, which the live stream keeps up to date, and older pages that were loaded. Entries of the past do not
 * change, so older pages are never loaded again. New entries wait in `waiting`, so that the rows do not move under the reader.
 */
export function useLog(
  action: LogAction,
  of: object | undefined,
  rest: { filter: object; outcome?: string },
) {
  const input = { ...of, ...rest }
  const first = useActionState(action, { ...input, names: true, limit: LOG_PAGE_SIZE } as never, {
    keepPrevious: true,
  })
  const logKey = JSON.stringify([action, of])
  const key = JSON.stringify([action, input])
  const [kept, setKept] = useState<Kept>()
  const [more, setMore] = useState<{ key: string; isLoading: boolean; error?: unknown }>()
  const latest = first.isPlaceholderData ? undefined : (first.data as Answer | ActionsAnswer | undefined)
  const answer = useMemo(() => latest && answerOf(latest), [latest])
  if (answer && (kept?.key !== key || kept.answer !== answer)) setKept(joined(kept, key, logKey, answer))

  async function loadMore(): Promise<void> {
    if (!kept?.nextCursor || kept.key !== key || more?.isLoading) return
    setMore({ key, isLoading: true })
    try {
      const cursor = kept.nextCursor
      const page = answerOf(
        await invoke(action, { ...input, names: true, limit: LOG_PAGE_SIZE, cursor } as never),
      )
      setKept(now => now && (now.nextCursor === cursor ? withOlder(now, page) : now))
      setMore(undefined)
    } catch (error) {
      setMore({ key, isLoading: false, error })
    }
  }

  const isCurrent = kept?.key === key
  const isPrevious = kept?.logKey === logKey && !first.isError
  const state = isCurrent || isPrevious ? kept : undefined
  const showNew = () => setKept(now => now && withNewer(now))
  const moreError = more?.key === key && more.error instanceof Error ? more.error : null
  return {
    /** `undefined` while the first page loads. */
    entries: state?.shown,
    subjects: state?.subjects ?? NO_SUBJECTS,
    sealing: state?.answer.sealing as Sealing | undefined,
    waiting:
      isCurrent && kept.newer.length > 0
        ? ({ count: kept.newer.length, isMore: kept.hasGap } satisfies NewEntries)
        : undefined,
    showNew,
    /** Whether the answer for the current filter has arrived. */
    isLoaded: isCurrent,
    /** State of the list for `ListPage`. */
    list: {
      data: state && { pages: [state.answer] },
      dataUpdatedAt: first.dataUpdatedAt,
      error: first.error ?? moreError,
      errorUpdatedAt: first.errorUpdatedAt,
      isPlaceholderData: !isCurrent,
      hasNextPage: isCurrent && kept.nextCursor !== undefined,
      isFetchingNextPage: more?.key === key && more.isLoading,
      fetchNextPage: loadMore,
      refetch: async () => {
        const { data } = await first.refetch()
        if (data)
          setKept(now => withNewer(joined(now, key, logKey, answerOf(data as Answer | ActionsAnswer))))
      },
    },
  }
}

const NO_SUBJECTS: Subjects = {}

/** The answer of a log of actions in the form of a log of events. */
function answerOf(answer: Answer | ActionsAnswer): Answer {
  if (!('actions' in answer)) return answer
  const { actions, ...rest } = answer
  return {
    ...rest,
    events: actions.map(({ actionId, action, ...entry }) => ({ ...entry, eventId: actionId, event: action })),
  }
}

/** Joins the answer for the first page to the entries on screen. */
function joined(kept: Kept | undefined, key: string, logKey: string, answer: Answer): Kept {
  const { events, nextCursor, subjects } = answer
  if (kept?.key !== key || kept.shown.length === 0)
    return {
      key,
      logKey,
      answer,
      shown: events,
      newer: [],
      hasGap: false,
      subjects: subjects ?? {},
      nextCursor,
    }
  const latest = new Map(events.map(entry => [entry.eventId, entry]))
  const known = new Set(kept.shown.map(entry => entry.eventId))
  return {
    ...kept,
    answer,
    // Entries on screen are sealed some time after they were written.
    shown: kept.shown.map(entry => latest.get(entry.eventId) ?? entry),
    newer: events.filter(entry => !known.has(entry.eventId)),
    hasGap: !events.some(entry => known.has(entry.eventId)),
    subjects: { ...kept.subjects, ...subjects },
  }
}

/** Shows the new entries. If entries between them and those on screen may be missing, the list begins again with the first page. */
function withNewer(kept: Kept): Kept {
  const { answer, shown, hasGap } = kept
  if (hasGap)
    return { ...kept, shown: answer.events, newer: [], hasGap: false, nextCursor: answer.nextCursor }
  const latest = new Set(answer.events.map(entry => entry.eventId))
  return {
    ...kept,
    shown: [...answer.events, ...shown.filter(entry => !latest.has(entry.eventId))],
    newer: [],
  }
}

function withOlder(kept: Kept, { events, subjects, nextCursor }: Answer): Kept {
  const known = new Set(kept.shown.map(entry => entry.eventId))
  return {
    ...kept,
    shown: [...kept.shown, ...events.filter(entry => !known.has(entry.eventId))],
    subjects: { ...kept.subjects, ...subjects },
    nextCursor,
  }
}
