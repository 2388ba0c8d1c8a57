import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { actionQuery } from '../../api/queries.ts'
import { isUnfinished } from './shared/bulk-words.ts'
import { refetchChanged } from './shared/use-bulk-run.ts'

/** Interval, in milliseconds, at which the progress of a running bulk action is polled. */
const PROGRESS_MS = 1_000

/** The state of a bulk action, polled each second while it runs. Lists are fetched again when it ends. */
export function useBulkAction(projectId: string, bulkActionId: string) {
  const queryClient = useQueryClient()
  const base = actionQuery('devices_GetBulkAction', { projectId, bulkActionId })
  const query = useQuery({
    ...base,
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data && isUnfinished(state.data) ? PROGRESS_MS : 30_000),
  })
  const isRunning = query.data !== undefined && isUnfinished(query.data)
  useEffect(() => {
    if (!isRunning) return
    return () => {
      void refetchChanged(queryClient)
      void queryClient.invalidateQueries({ queryKey: ['devices_QueryBulkActionItems'] })
    }
  }, [isRunning, queryClient])
  return query
}
