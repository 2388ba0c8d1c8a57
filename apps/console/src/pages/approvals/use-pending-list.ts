import type { ActionOutput } from '@muster/actions/client'
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { invoke } from '../../api/client.ts'
import { actionPagesQuery } from '../../api/queries.ts'
import type { Grouping } from './pending-search.ts'

type PendingPageAnswer = ActionOutput<'projects_QueryPendingCertificates'>

/** A pending certificate of the list. */
export type PendingCertificate = PendingPageAnswer['certificates'][number]
/** A group of pending certificates, by default those with one token and one address. */
export type PendingGroup = PendingPageAnswer['groups'][number]
const PAGE_SIZE = 50

/**
 * The pending certificates of a project in pages. A refetch leaves out certificates that came after the first load, so that they do not
 * move the rows on screen. `newerCount` is the number of these certificates, and `showNewer` adds them to the list.
 */
export function usePendingList(projectId: string, groupBy: Grouping, text: string) {
  const queryClient = useQueryClient()
  const base = actionPagesQuery('projects_QueryPendingCertificates', {
    projectId,
    groupBy,
    ...(text && { filter: { text } }),
    limit: PAGE_SIZE,
  })
  const isRenewed = useRef(false)
  const query = useInfiniteQuery({
    ...base,
    placeholderData: (previous: InfiniteData<PendingPageAnswer, string> | undefined) => previous,
    queryFn: ({ pageParam: cursor, signal }) => {
      const known = isRenewed.current
        ? undefined
        : queryClient.getQueryData(base.queryKey)?.pages[0]?.seenUntil
      isRenewed.current = false
      const filter = { ...(text && { text }), ...(known !== undefined && { seenUntil: known }) }
      const input = { projectId, groupBy, filter, limit: PAGE_SIZE, ...(cursor && { cursor }) }
      return invoke('projects_QueryPendingCertificates', input, { signal })
    },
  })
  const pages = query.data?.pages ?? []
  const first = pages[0]
  // A decision between two requests may move a group behind the cursor, so that the hub returns its rows twice.
  const certificates = [
    ...new Map(pages.flatMap(page => page.certificates).map(one => [one.certificateId, one])).values(),
  ]
  const groups = new Map(pages.flatMap(page => page.groups).map(group => [group.groupKey, group]))
  return {
    ...query,
    certificates,
    groups,
    total: first?.total ?? undefined,
    deviceTotal: first?.deviceTotal ?? undefined,
    /** Whether the hub could not count the certificates within the time limit of the query. */
    isUncounted: first?.total === null,
    newerCount: first?.newerCount ?? 0,
    showNewer() {
      isRenewed.current = true
      void query.refetch()
    },
    /** Ids of all certificates that match, or of one group, including certificates on pages that are not loaded. */
    async allIds(groupKey?: string): Promise<string[]> {
      const filter = {
        ...(text && { text }),
        ...(first && { seenUntil: first.seenUntil }),
        ...(groupKey !== undefined && { groupKey }),
      }
      const answer = await invoke('projects_QueryPendingCertificates', {
        projectId,
        groupBy,
        filter,
        idsOnly: true,
      })
      return answer.certificateIds ?? []
    },
  }
}

/** State of `usePendingList`. */
export type PendingList = ReturnType<typeof usePendingList>
