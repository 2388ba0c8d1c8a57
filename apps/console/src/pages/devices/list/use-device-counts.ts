import type { ActionInput } from '@muster/actions/client'
import { useActionState } from '../../../api/queries.ts'
import { PRESETS } from './attention.ts'

type Filter = ActionInput<'projects_QueryDevices'>['filter']

/** Number of devices; null if it could not be counted, `undefined` while it is counted. */
type Count = number | null | undefined

/**
 * Numbers of devices that match the filter, and that match each preset together with the other parts of the filter. They come with one
 * request, because the hub runs one count at a time for each person. The filter itself is the first, because the hub counts in order and
 * ends after 2 s.
 *
 * @param isReady whether the rows for this filter have loaded. The counts are requested afterwards.
 */
export function useDeviceCounts(projectId: string, filter: Filter, isReady: boolean) {
  const { preset, ...others } = filter ?? {}
  const { data, error, isPlaceholderData } = useActionState(
    'projects_QueryDeviceCounts',
    {
      projectId,
      filters: [
        // Without a preset, the filter equals `others`.
        ...(preset ? [{ ...others, preset }] : []),
        others,
        ...PRESETS.map(name => ({ ...others, preset: name })),
      ],
    },
    { enabled: isReady, keepPrevious: true },
  )
  const counts: Count[] = data?.counts ?? (error ? [null, ...PRESETS.map(() => null)] : [])
  // Read from the end, because counts of the filter before this one may be one more or one less.
  const [all, ...presets] = counts.slice(-PRESETS.length - 1)
  const reason = error ? `Not counted: ${error.message}` : 'Not counted within 2 s.'
  // Counts of the filter before this one stay at the presets, but would be wrong beside the rows.
  return { all, presets, reason, total: isPlaceholderData ? undefined : counts[0] }
}
