import { type ActionInput, MAX_COUNTED_FILTERS } from '@muster/actions/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { actionQuery } from '../../../api/queries.ts'
import type { View } from './view-search.ts'

/** Most views that are counted, in the order of the menu. The others have no number. */
const MOST = 20
/** Time, in milliseconds, for which counts are fresh. They are taken when they are shown, and not again in the background. */
const FRESH_MS = 10_000

/** Numbers of devices of the first 20 views; null for one that was not counted within 2 s. Undefined while they are counted. */
export function useViewCounts(
  projectId: string,
  views: readonly View[],
): ReadonlyMap<string, number | null> | undefined {
  const queryClient = useQueryClient()
  const counted = views.slice(0, MOST)
  const { data } = useQuery({
    queryKey: ['view counts', projectId, counted.map(({ viewId, changedAt }) => `${viewId} ${changedAt}`)],
    enabled: counted.length > 0,
    staleTime: FRESH_MS,
    refetchOnWindowFocus: false,
    queryFn: async () => {
      const counts = new Map<string, number | null>()
      for (let at = 0; at < counted.length; at += MAX_COUNTED_FILTERS) {
        const portion = counted.slice(at, at + MAX_COUNTED_FILTERS)
        const filters = portion.map(({ conditions }) => conditions) as Filters
        const query = actionQuery('projects_QueryDeviceCounts', { projectId, filters, mayBeKept: true })
        const answer = await queryClient.fetchQuery({ ...query, staleTime: FRESH_MS })
        for (const [index, { viewId }] of portion.entries()) counts.set(viewId, answer.counts[index] ?? null)
      }
      return counts
    },
  })
  return data
}

type Filters = ActionInput<'projects_QueryDeviceCounts'>['filters']
