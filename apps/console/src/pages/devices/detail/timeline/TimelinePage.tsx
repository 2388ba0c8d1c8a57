import { useParams } from '@tanstack/react-router'
import { anyText, oneOf, usePageSearch } from '../../../../lib/app/search.ts'
import { FilterBox } from '../../../../ui/app/FilterBox.tsx'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { EntriesPage } from './EntriesPage.tsx'
import type { Kind } from './entry.ts'
import { TimelineList } from './TimelineList.tsx'
import { TimeTools, useTimes } from './TimeTools.tsx'
import { rangeOf, rangeSearch } from './time-range.ts'
import { useTimeline } from './use-timeline.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId/timeline'

const KINDS: { value: Kind | ''; label: string }[] = [
  { value: '', label: 'All' },
  { value: 'event', label: 'Events' },
  { value: 'connection', label: 'Connection' },
  { value: 'property', label: 'Properties' },
  { value: 'certificate', label: 'Certificates' },
  { value: 'person', label: 'People' },
]

/** Search parameters of the timeline of a device. */
export const timelineSearch = {
  ...rangeSearch,
  q: anyText,
  kind: oneOf(
    KINDS.map(({ value }) => value),
    '',
  ),
  // `problems` shows warnings and errors only.
  level: oneOf(['problems']),
  // Id of the entry that is open.
  entry: anyText,
}

/** History of a device: events, connections, changes and actions of people in one list, newest first. */
export function TimelinePage() {
  const { deviceId } = useParams({ from: ROUTE })
  return <Timeline key={deviceId} deviceId={deviceId} />
}

function Timeline({ deviceId }: { deviceId: string }) {
  const [search, change] = usePageSearch(timelineSearch)
  const { kind } = search
  const range = rangeOf(search)
  const times = useTimes(search)
  const timeline = useTimeline(deviceId, {
    ...times,
    ...(kind && { kinds: [kind] }),
    ...(search.q?.trim() && { text: search.q.trim() }),
    minSeverity: search.level ? 'Warning' : 'Info',
  })
  const { counts } = timeline
  const all = counts && Object.values(counts).reduce((sum, count) => sum + count, 0)
  return (
    <EntriesPage deviceId={deviceId} title="What happened" hasStatus timeline={timeline}>
      <div className="tools">
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
            checked={search.level !== undefined}
            onChange={event => change({ level: event.target.checked ? 'problems' : '' })}
          />
          <span>Warnings and errors only</span>
        </label>
      </TimeTools>
      <TimelineList
        deviceId={deviceId}
        timeline={timeline}
        total={kind ? counts?.[kind] : all}
        hasAllKinds={kind === '' && !search.q && !search.level}
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
