import type { ActionInput, ActionName } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { invoke } from '../../api/client.ts'

/**
 * Runs the action of a mailed link. The token of the link works once, so the request is sent once per token and page load, however often
 * React mounts the component.
 */
export function useMailedLink<N extends ActionName>(name: N, input: ActionInput<N>, enabled = true) {
  return useQuery({
    queryKey: [name, input],
    queryFn: () => invoke(name, input),
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    retry: false,
    retryOnMount: false,
    refetchOnMount: false,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  })
}
