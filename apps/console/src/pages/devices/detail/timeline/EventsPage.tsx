import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useActionState } from '../../../../api/queries.ts'
import { useChangeSearch } from '../../../../lib/app/search.ts'
import { Breadcrumb } from '../../../../ui/app/Breadcrumb.tsx'
import { FilterBox } from '../../../../ui/app/FilterBox.tsx'
import { LiveStamp } from '../../../../ui/app/LiveStamp.tsx'
import { Page } from '../../../../ui/app/Page.tsx'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { isAbsent } from '../../../../ui/is-absent.ts'
import { SuggestBox } from '../../../../ui/lazy/SuggestBox.tsx'
import { Absent } from '../../../../ui/NotFound.tsx'
import { Title } from '../../../../ui/Title.tsx'
import { deviceNameText } from '../../device-name.ts'
import type { Severity } from './entry.ts'
import { TimelineList } from './TimelineList.tsx'
import { TimeTools, useTimes } from './TimeTools.tsx'
import { rangeOf } from './time-range.ts'
import { useTimeline } from './use-timeline.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId/events'

/** Search parameters of the events of a device. `level` is the least severity. */
export type EventsSearch = {
  q?: string
  level?: string
  category?: string
  range?: string
  from?: string
  to?: string
  /** Id of the entry that is open. */
  entry?: string
}

const LEVELS: { value: Severity | ''; label: string }[] = [
  { value: '', label: 'All' },
  { value: 'Info', label: 'Info and above' },
  { value: 'Warning', label: 'Warning and above' },
  { value: 'Error', label: 'Error and Critical' },
]

/** All events of a device, newest first, by severity, category, text and time. */
export function EventsPage() {
  const { deviceId } = useParams({ from: ROUTE })
  return <Events key={deviceId} deviceId={deviceId} />
}

function Events({ deviceId }: { deviceId: string }) {
  const search = useSearch({ from: ROUTE })
  const change = useChangeSearch<EventsSearch>()
  const { data: details, error } = useActionState('devices_GetDetails', { deviceId })
  const level = LEVELS.find(({ value }) => value === search.level)?.value ?? ''
  const times = useTimes(search)
  const timeline = useTimeline(deviceId, {
    ...times,
    kinds: ['event'],
    ...(search.q?.trim() && { text: search.q.trim() }),
    ...(search.category && { category: search.category }),
    ...(level && { minSeverity: level }),
  })
  if (isAbsent(error)) return <Absent reason={error} />
  const name = details ? deviceNameText(details) : deviceId
  const { entries = [], first, counts } = timeline
  const categories = new Set(entries.flatMap(entry => (entry.type === 'event' ? (entry.category ?? []) : [])))
  return (
    <Page>
      <Title page={`Events · ${name}`} />
      <Breadcrumb
        links={[
          <Link key="devices" from="/org_{$organization}/projects/$projectId" to="./devices">
            Devices
          </Link>,
          <Link key="device" from="/org_{$organization}/projects/$projectId/devices/$deviceId" to=".">
            {name}
          </Link>,
        ]}
        here="Events"
      />
      <div className="phead tlh">
        <h1 tabIndex={-1}>Events</h1>
        <span className="cnt">
          <bdi>{name}</bdi>
        </span>
        <span className="grow" />
        {first.data && <LiveStamp updatedAt={first.dataUpdatedAt} failedAt={first.errorUpdatedAt} />}
      </div>
      <div className="tools tlt">
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
    </Page>
  )
}
