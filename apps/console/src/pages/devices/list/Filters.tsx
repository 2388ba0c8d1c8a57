import type { ActionOutput } from '@muster/actions/client'
import { MAX_MARKED_DEVICES } from '@muster/actions/client'
import { type SegmentOption, Segments } from '../../../ui/app/Segments.tsx'
import { ATTENTION_LABELS, type Attention } from './attention.ts'
import type { DeviceSearch } from './devices-input.ts'
import { PRESETS, type useDeviceCounts } from './use-device-counts.ts'

type Status = NonNullable<DeviceSearch['status']>

type Summary =
  | Pick<
      ActionOutput<'projects_GetSummary'>,
      'deviceCount' | 'connectedCount' | 'pendingCount' | 'warningCount' | 'errorCount'
    >
  | undefined

type FiltersProps = {
  search: DeviceSearch
  summary: Summary
  counts: ReturnType<typeof useDeviceCounts>
  onChange: (next: { status?: string | undefined; show?: string | undefined }) => void
}

/** One-click filters: presets with their counts and, for projects of at most 200 devices, also connection and health. */
export function Filters({ search, summary, counts: { all, presets }, onChange }: FiltersProps) {
  const isLarge = summary !== undefined && summary.deviceCount > MAX_MARKED_DEVICES
  const options: SegmentOption<Attention>[] = PRESETS.map((value, index) => ({
    value,
    label: ATTENTION_LABELS[value],
    count: presets[index] ?? undefined,
    ...(value === 'pending' && { mark: 'pending' as const }),
  }))
  const setShow = (show: Attention | 'all') => onChange({ show: show === 'all' ? undefined : show })
  if (isLarge)
    return (
      <Segments<Attention | 'all'>
        label="Presets"
        value={search.show ?? 'all'}
        options={[{ value: 'all', label: 'All', count: all ?? undefined }, ...options]}
        onChange={setShow}
      />
    )
  return (
    <>
      <Segments
        label="Status"
        value={search.status ?? 'all'}
        options={segmentsOf(summary)}
        onChange={status => onChange({ status: status === 'all' ? undefined : status })}
      />
      <Segments<Attention | 'all'>
        label="Needs attention"
        value={search.show ?? 'all'}
        options={[
          { value: 'all', label: 'Any health' },
          {
            value: 'warning',
            label: ATTENTION_LABELS.warning,
            count: summary?.warningCount,
            mark: 'warning',
          },
          { value: 'error', label: ATTENTION_LABELS.error, count: summary?.errorCount, mark: 'error' },
          ...options.slice(0, -1),
        ]}
        onChange={setShow}
      />
    </>
  )
}

function segmentsOf(summary: Summary): SegmentOption<Status | 'all'>[] {
  return [
    { value: 'all', label: 'All', count: countOf(summary, undefined) },
    { value: 'connected', label: 'Connected', count: countOf(summary, 'connected'), mark: 'on' },
    { value: 'disconnected', label: 'Disconnected', count: countOf(summary, 'disconnected'), mark: 'off' },
    { value: 'pending', label: 'Pending', count: countOf(summary, 'pending'), mark: 'pending' },
  ]
}

/** Number of devices with a status, or of all devices without one; `undefined` until the summary has loaded. */
export function countOf(summary: Summary, status: Status | undefined): number | undefined {
  if (!summary) return undefined
  const { deviceCount, connectedCount, pendingCount } = summary
  const disconnected = deviceCount - connectedCount
  const counts = { all: deviceCount, connected: connectedCount, disconnected, pending: pendingCount }
  return counts[status ?? 'all']
}
