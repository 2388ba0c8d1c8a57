import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { invoke } from '../../../../api/client.ts'
import { useGrowingList } from '../../../../api/lazy/growing-list.ts'
import { useActionState } from '../../../../api/queries.ts'
import type { Entry } from './entry.ts'

export type TimelineFilter = NonNullable<ActionInput<'devices_QueryTimeline'>['filter']>
type Answer = ActionOutput<'devices_QueryTimeline'>

/** Number of entries per request. */
const PAGE_SIZE = 64
/** New entries are shown immediately while the page is scrolled down by less than this, in pixels. */
const AT_TOP_PX = 160

/** The timeline of a device. While the top of the page is in view, new entries appear immediately. */
export function useTimeline(deviceId: string, filter: TimelineFilter) {
  const input = { deviceId, filter, limit: PAGE_SIZE }
  const first = useActionState(
    'devices_QueryTimeline',
    { ...input, withCounts: true },
    { keepPrevious: true },
  )
  const { kept, isCurrent, loadMore, ...list } = useGrowingList<Entry, Answer>({
    key: JSON.stringify(input),
    first: first.isPlaceholderData ? undefined : first.data,
    idOf: entry => entry.entryId,
    load: cursor => invoke('devices_QueryTimeline', { ...input, cursor }),
    isAtNewest: () => window.scrollY < AT_TOP_PX,
  })
  return {
    ...list,
    filter,
    first,
    /** `undefined` while the first page loads. */
    entries: isCurrent ? kept?.shown : undefined,
    counts: first.data?.counts,
    countedBackTo: first.data?.searchedBackTo,
    searchedBackTo: isCurrent && kept ? spentAt(kept.last) : undefined,
    loadMore: () => void loadMore(),
  }
}

/** Time back to which the hub has searched the timeline, if it ended the search before it had found a full page of entries. */
function spentAt({ entries, searchedBackTo }: Answer): string | undefined {
  return entries.length < PAGE_SIZE ? searchedBackTo : undefined
}
