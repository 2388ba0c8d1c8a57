import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useActionState } from '../../../../api/queries.ts'
import { useChangeSearch } from '../../../../lib/app/search.ts'
import { Breadcrumb } from '../../../../ui/app/Breadcrumb.tsx'
import { FilterBox } from '../../../../ui/app/FilterBox.tsx'
import { LiveStamp } from '../../../../ui/app/LiveStamp.tsx'
import { Page } from '../../../../ui/app/Page.tsx'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { isAbsent } from '../../../../ui/is-absent.ts'
import { Absent } from '../../../../ui/NotFound.tsx'
import { Title } from '../../../../ui/Title.tsx'
import { deviceNameText } from '../../device-name.ts'
import { StatusBadges } from '../StatusBadges.tsx'
import type { Kind } from './entry.ts'
import { TimelineList } from './TimelineList.tsx'
import { TimeTools, useTimes } from './TimeTools.tsx'
import { rangeOf } from './time-range.ts'
import { useTimeline } from './use-timeline.ts'

const ROUTE = '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId/timeline'

/** Search parameters of the timeline of a device. */
export type TimelineSearch = {
  q?: string
  kind?: string
  range?: string
  from?: string
  to?: string
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
  const { data: details, error } = useActionState('devices_GetDetails', { deviceId })
  const kind = KINDS.find(({ value }) => value === search.kind)?.value ?? ''
  const range = rangeOf(search)
  const times = useTimes(search)
  const timeline = useTimeline(deviceId, {
    ...times,
    ...(kind && { kinds: [kind] }),
    ...(search.q?.trim() && { text: search.q.trim() }),
    minSeverity: search.level === 'problems' ? 'Warning' : 'Info',
  })
  if (isAbsent(error)) return <Absent reason={error} />
  const { counts, first } = timeline
  const all = counts && Object.values(counts).reduce((sum, count) => sum + count, 0)
  const name = details ? deviceNameText(details) : deviceId
  return (
    <Page>
      <Title page={`What happened · ${name}`} />
      <Breadcrumb
        links={[
          <Link key="devices" from="/org_{$organization}/projects/$projectId" to="./devices">
            Devices
          </Link>,
          <Link key="device" from="/org_{$organization}/projects/$projectId/devices/$deviceId" to=".">
            {name}
          </Link>,
        ]}
        here="What happened"
      />
      <div className="phead tlh">
        <h1 tabIndex={-1}>What happened</h1>
        <span className="cnt">
          <bdi>{name}</bdi>
        </span>
        {details && <StatusBadges deviceId={deviceId} isConnected={details.isConnected} />}
        <span className="grow" />
        {first.data && <LiveStamp updatedAt={first.dataUpdatedAt} failedAt={first.errorUpdatedAt} />}
      </div>
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
    </Page>
  )
}
