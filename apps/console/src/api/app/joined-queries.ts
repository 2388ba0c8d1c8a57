import type { QueryClient } from '@tanstack/react-query'

/** Query options of `actionQuery`, for code that handles the queries of different actions alike. */
export type JoinedQuery = {
  queryKey: readonly unknown[]
  queryFn?: unknown
  staleTime?: unknown
}

/** Query options of a joined request: no second attempt, because its parts are then sent alone, and no copy of the answer in the cache. */
export const ONCE = { retry: false, gcTime: 0 } as const

/** Whether a query has no fresh answer and is not being sent. */
export function isMissing(queryClient: QueryClient, { queryKey, staleTime }: JoinedQuery): boolean {
  const known = queryClient.getQueryCache().find({ queryKey })
  return (
    known === undefined || (known.state.fetchStatus === 'idle' && known.isStaleByTime(staleTime as number))
  )
}

/**
 * Prefetches a query whose answer comes with a request that joins several queries. If that request fails, or has no answer for the query,
 * the query is sent alone, so that each part of a page shows its own error. Refetches are sent alone in any case.
 */
export function prefetchFrom<Answers>(
  queryClient: QueryClient,
  query: JoinedQuery,
  joined: Promise<Answers>,
  answerOf: (answers: Answers) => unknown,
) {
  const askAlone = query.queryFn as (context: object) => Promise<unknown>
  let first: Promise<unknown> | undefined = joined.then(answerOf, () => undefined)
  void queryClient.prefetchQuery({
    queryKey: query.queryKey,
    staleTime: query.staleTime as number,
    queryFn: async context => {
      const answer = await first
      first = undefined
      return answer ?? askAlone(context)
    },
  })
}
