import { useParams } from '@tanstack/react-router'
import { anyText, oneOf, usePageSearch } from '../../../../lib/app/search.ts'
import { FilterBox } from '../../../../ui/app/FilterBox.tsx'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { SuggestBox } from '../../../../ui/lazy/SuggestBox.tsx'
import { EntriesPage } from './EntriesPage.tsx'
import type { Severity } from './entry.ts'
import { TimelineList } from './TimelineList.tsx'
import { TimeTools, useTimes } from './TimeTools.tsx'
import { rangeOf, rangeSearch } from './time-range.ts'
import { useTimeline } from './use-timeline.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId/events'

const LEVELS: { value: Severity | ''; label: string }[] = [
  { value: '', label: 'All' },
  { value: 'Info', label: 'Info and above' },
  { value: 'Warning', label: 'Warning and above' },
  { value: 'Error', label: 'Error and Critical' },
]

/** Search parameters of the events of a device. */
export const eventsSearch = {
  ...rangeSearch,
  q: anyText,
  // The lowest severity that is shown.
  level: oneOf(
    LEVELS.map(({ value }) => value),
    '',
  ),
  category: anyText,
  // Id of the entry that is open.
  entry: anyText,
}

/** All events of a device, newest first, with filters by severity, category, text and time. */
export function EventsPage() {
  const { deviceId } = useParams({ from: ROUTE })
  return <Events key={deviceId} deviceId={deviceId} />
}

function Events({ deviceId }: { deviceId: string }) {
  const [search, change] = usePageSearch(eventsSearch)
  const { level } = search
  const times = useTimes(search)
  const timeline = useTimeline(deviceId, {
    ...times,
    kinds: ['event'],
    ...(search.q?.trim() && { text: search.q.trim() }),
    ...(search.category && { category: search.category }),
    ...(level && { minSeverity: level }),
  })
  const { entries = [], counts } = timeline
  const categories = new Set(entries.flatMap(entry => (entry.type === 'event' ? (entry.category ?? []) : [])))
  return (
    <EntriesPage deviceId={deviceId} title="Events" timeline={timeline}>
      <div className="tools">
        <FilterBox
          value={search.q ?? ''}
          onChange={q => change({ q })}
          label="Search events"
          placeholder="Search events"
        />
        <Segments
          label="Severity"
          value={level}
          options={LEVELS}
          onChange={value => change({ level: value })}
        />
        <SuggestBox
          value={search.category ?? ''}
          options={[...categories].sort()}
          onChange={category => change({ category })}
          label="Filter by category"
          placeholder="Category"
        />
      </div>
      <TimeTools search={search} onChange={change} />
      <TimelineList
        deviceId={deviceId}
        timeline={timeline}
        total={counts?.event}
        hasAllKinds={false}
        range={rangeOf(search)}
        openId={search.entry}
        onOpen={entry => change({ entry })}
        onWiden={() => change({ range: 'all', from: '', to: '' })}
        onClear={() => change({ q: '', level: '', category: '' })}
        isFiltered={Boolean(search.q || level || search.category)}
      />
    </EntriesPage>
  )
}
