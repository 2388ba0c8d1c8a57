import type { ActionOutput } from '@muster/actions/client'
import { useMemo } from 'react'
import { invoke } from '../../api/client.ts'
import { useGrowingList } from '../../api/lazy/growing-list.ts'
import { useActionState } from '../../api/queries.ts'
import type { Entry, Sealing, Subjects } from './shared/entry.ts'
import type { TimeSearch } from './shared/time-range.ts'

const PAGE_SIZE = 100

/** Query actions of the logs. */
export type LogAction =
  | 'audit_QueryAuditLogEvents'
  | 'organizations_QueryAuditLog'
  | 'projects_QueryAuditLog'
  | 'repositories_QueryAuditLog'
  | 'devices_QueryAuditLog'
  | 'audit_QueryAuditLogActions'

/** Maps the query action of a log to the action that counts its entries. */
export const COUNTS = {
  audit_QueryAuditLogEvents: 'audit_QueryAuditLogActivity',
  organizations_QueryAuditLog: 'organizations_QueryAuditLogActivity',
  projects_QueryAuditLog: 'projects_QueryAuditLogActivity',
  repositories_QueryAuditLog: 'repositories_QueryAuditLogActivity',
  devices_QueryAuditLog: 'devices_QueryAuditLogActivity',
} as const

/** How to count the entries of a time range: the action, its input for the range, and whether the log shows only failures. */
export type RangeCounting = {
  action: (typeof COUNTS)[keyof typeof COUNTS]
  inputOf: (time: TimeSearch) => object
  isFailed: boolean
}

type Answer = ActionOutput<'audit_QueryAuditLogEvents'> | ActionOutput<'audit_QueryAuditLogActions'>

type LogPage = {
  /** Query action and resource of the log, as JSON. Pages with another key belong to another log. */
  logKey: string
  entries: readonly Entry[]
  nextCursor: string | undefined
  total: number | undefined
  subjects: Subjects | undefined
  sealing: Sealing | undefined
}

/** Entries of a log. While the entries for a new filter load, the previous entries stay on screen. */
export function useLog(
  action: LogAction,
  of: object | undefined,
  rest: { filter: object; outcome?: string },
) {
  const input = { ...of, ...rest, names: true, limit: PAGE_SIZE }
  const query = useActionState(action, input as never, { keepPrevious: true })
  const logKey = JSON.stringify([action, of])
  const answer = query.isPlaceholderData ? undefined : (query.data as Answer | undefined)
  const first = useMemo(() => answer && pageOf(logKey, answer), [logKey, answer])
  const list = useGrowingList<Entry, LogPage>({
    key: JSON.stringify([action, input]),
    first,
    idOf: entry => entry.eventId,
    load: async cursor => pageOf(logKey, await invoke(action, { ...input, cursor } as never)),
  })
  const { kept, isCurrent, waiting, showNew, moreError } = list
  const state = isCurrent || (kept?.first.logKey === logKey && !query.isError) ? kept : undefined
  return {
    /** `undefined` while the first page loads. */
    entries: state?.shown,
    subjects: (state?.subjects ?? NO_SUBJECTS) as Subjects,
    sealing: state?.first.sealing,
    waiting,
    showNew,
    /** Whether the answer for the current filter has arrived. */
    isLoaded: isCurrent,
    /** State of the list for `ListPage`. */
    list: {
      data: state && { pages: [state.first] },
      dataUpdatedAt: query.dataUpdatedAt,
      error: query.error ?? (moreError instanceof Error ? moreError : null),
      errorUpdatedAt: query.errorUpdatedAt,
      isPlaceholderData: !isCurrent,
      hasNextPage: list.hasMore,
      isFetchingNextPage: list.isLoadingMore,
      fetchNextPage: list.loadMore,
      refetch: async () => {
        const { data } = await query.refetch()
        if (data) list.showFirst(pageOf(logKey, data as Answer))
      },
    },
  }
}

const NO_SUBJECTS: Subjects = {}

/** A page of the audit log, from the answer of the hub for events or for actions. */
function pageOf(logKey: string, answer: Answer): LogPage {
  const { nextCursor, total, subjects, sealing } = answer
  const entries =
    'actions' in answer
      ? answer.actions.map(({ actionId, action, ...entry }) => ({
          ...entry,
          eventId: actionId,
          event: action,
        }))
      : answer.events
  return { logKey, entries, nextCursor, total, subjects, sealing }
}
