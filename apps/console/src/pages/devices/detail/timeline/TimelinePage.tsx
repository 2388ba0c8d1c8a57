import { useParams, useSearch } from '@tanstack/react-router'
import { useChangeSearch } from '../../../../lib/app/search.ts'
import { FilterBox } from '../../../../ui/app/FilterBox.tsx'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { EntriesPage } from './EntriesPage.tsx'
import type { Kind } from './entry.ts'
import { TimelineList } from './TimelineList.tsx'
import { TimeTools, useTimes } from './TimeTools.tsx'
import { type RangeSearch, rangeOf } from './time-range.ts'
import { useTimeline } from './use-timeline.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId/timeline'

/** Search parameters of the timeline of a device. */
export type TimelineSearch = RangeSearch & {
  q?: string
  kind?: string
  /** `problems` shows warnings and errors only. */
  level?: string
  /** Id of the entry that is open. */
  entry?: string
}

const KINDS: { value: Kind | ''; label: string }[] = [
  { value: '', label: 'All' },
  { value: 'event', label: 'Events' },
  { value: 'connection', label: 'Connection' },
  { value: 'property', label: 'Properties' },
  { value: 'certificate', label: 'Certificates' },
  { value: 'person', label: 'People' },
]

/** History of a device: events, connections, changes and actions of people in one list, newest first. */
export function TimelinePage() {
  const { deviceId } = useParams({ from: ROUTE })
  return <Timeline key={deviceId} deviceId={deviceId} />
}

function Timeline({ deviceId }: { deviceId: string }) {
  const search = useSearch({ from: ROUTE })
  const change = useChangeSearch<TimelineSearch>()
  const kind = KINDS.find(({ value }) => value === search.kind)?.value ?? ''
  const range = rangeOf(search)
  const times = useTimes(search)
  const timeline = useTimeline(deviceId, {
    ...times,
    ...(kind && { kinds: [kind] }),
    ...(search.q?.trim() && { text: search.q.trim() }),
    minSeverity: search.level === 'problems' ? 'Warning' : 'Info',
  })
  const { counts } = timeline
  const all = counts && Object.values(counts).reduce((sum, count) => sum + count, 0)
  return (
    <EntriesPage deviceId={deviceId} title="What happened" hasStatus timeline={timeline}>
      <div className="tools tlt">
        <FilterBox
          value={search.q ?? ''}
          onChange={q => change({ q })}
          label="Search what happened"
          placeholder="Search what happened"
        />
        <Segments
          label="Kind"
          value={kind}
          options={KINDS.map(option => ({ ...option, count: option.value ? counts?.[option.value] : all }))}
          onChange={value => change({ kind: value })}
        />
      </div>
      <TimeTools search={search} onChange={change}>
        <label className="check">
          <input
            type="checkbox"
            checked={search.level === 'problems'}
            onChange={event => change({ level: event.target.checked ? 'problems' : '' })}
          />
          <span>Warnings and errors only</span>
        </label>
      </TimeTools>
      <TimelineList
        deviceId={deviceId}
        timeline={timeline}
        total={kind ? counts?.[kind] : all}
        hasAllKinds={kind === '' && !search.q && search.level !== 'problems'}
        range={range}
        openId={search.entry}
        onOpen={entry => change({ entry })}
        onWiden={() => change({ range: 'all', from: '', to: '' })}
        onClear={() => change({ q: '', kind: '', level: '' })}
        isFiltered={Boolean(search.q || kind || search.level)}
      />
    </EntriesPage>
  )
}
