import type { ActionOutput } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { invoke } from '../../../api/client.ts'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import type { BulkSelection } from '../shared/use-bulk-run.ts'
import type { ReadChange } from './change-form.ts'

/** Preview of a change whose devices the hub has stored. */
export type ChangePreview = ActionOutput<'devices_GetBulkPreview'>

/** Devices by id or filter. */
export type DeviceSelection = Exclude<BulkSelection, { kind: 'certificates' }>

/** Pause in typing, in milliseconds, after which the change is previewed. Each preview stores up to 20,000 rows. */
const TYPING_MS = 600

/**
 * Preview of a change, made again when the change has not been edited for 600 ms. The hub keeps the newest preview of a person only, so
 * that none is taken from the cache.
 */
export function usePreview(projectId: string, selection: DeviceSelection, { labels, rename }: ReadChange) {
  const change = JSON.stringify({ labels, rename })
  const settled = useDebounced(change, TYPING_MS)
  const isTyped = labels !== undefined || rename !== undefined
  const query = useQuery<ChangePreview>({
    queryKey: ['preview of a change', projectId, selection, settled],
    queryFn: ({ signal }) =>
      rename
        ? invoke('devices_CreateBulkRename', { projectId, selection, ...rename }, { signal })
        : invoke('devices_CreateBulkLabels', { projectId, selection, ...labels }, { signal }),
    enabled: isTyped && settled === change,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  })
  const isCurrent = isTyped && settled === change
  return {
    preview: isCurrent ? query.data : undefined,
    error: isCurrent ? query.error : null,
    isPending: isTyped && (settled !== change || query.isFetching),
  }
}
