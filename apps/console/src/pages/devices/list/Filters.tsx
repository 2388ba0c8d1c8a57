import type { ActionOutput } from '@muster/actions/client'
import { formatCount } from '../../../lib/app/format.ts'
import { type SegmentOption, Segments } from '../../../ui/app/Segments.tsx'
import type { DeviceSearch } from '../shared/device-search.ts'
import { ATTENTION_LABELS, type Attention, HEALTHS, type Health, PRESETS } from './attention.ts'
import type { useDeviceCounts } from './use-device-counts.ts'

type Status = NonNullable<DeviceSearch['status']>

type Summary =
  | Pick<
      ActionOutput<'projects_GetSummary'>,
      'deviceCount' | 'connectedCount' | 'pendingCount' | 'healthyCount' | 'warningCount' | 'errorCount'
    >
  | undefined

type FiltersProps = {
  search: DeviceSearch
  summary: Summary
  counts: ReturnType<typeof useDeviceCounts>
  /** Whether the project has so many devices that their summary has the filters by connection and health. */
  isLarge: boolean
  /** Number of devices of the project. Counts keep the room of its digits, so that the filters do not move when counts arrive. */
  deviceCount: number | undefined
  onChange: (next: { [Name in 'status' | 'show' | 'health']?: string | undefined }) => void
}

/** One-click filters: presets with their counts and, for projects of at most 200 devices, also connection and health. */
export function Filters({ search, summary, counts, isLarge, deviceCount, onChange }: FiltersProps) {
  const { all, presets, reason } = counts
  const digits = deviceCount === undefined ? 3 : formatCount(deviceCount).length
  // Small lists have Pending among the filters by status.
  const names = isLarge ? PRESETS : PRESETS.slice(0, -1)
  const presetFilter = (
    <Segments<Attention | 'all'>
      label="Presets"
      value={search.show ?? 'all'}
      uncounted={reason}
      digits={digits}
      options={[
        { value: 'all', label: isLarge ? 'All' : 'No preset', count: all },
        ...names.map((value, index) => ({
          value,
          label: ATTENTION_LABELS[value],
          count: presets[index],
          ...(value === 'pending' && { mark: 'pending' as const }),
        })),
      ]}
      onChange={show => onChange({ show: show === 'all' ? undefined : show })}
    />
  )
  return (
    <>
      {!isLarge && (
        <>
          <Segments
            label="Status"
            value={search.status ?? 'all'}
            digits={digits}
            options={segmentsOf(summary)}
            onChange={status => onChange({ status: status === 'all' ? undefined : status })}
          />
          <Segments<Health | 'all'>
            label="Health"
            value={search.health ?? 'all'}
            digits={digits}
            options={[
              { value: 'all', label: 'Any health' },
              ...HEALTHS.map(value => ({
                value,
                label: ATTENTION_LABELS[value],
                count: summary?.[`${value}Count`],
                mark: value,
              })),
            ]}
            onChange={health => onChange({ health: health === 'all' ? undefined : health })}
          />
        </>
      )}
      {presetFilter}
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
