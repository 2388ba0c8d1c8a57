import { Link } from '@tanstack/react-router'
import { History } from 'lucide-react'
import { useMemo } from 'react'
import { useActionState } from '../../../../api/queries.ts'
import { formatCount } from '../../../../lib/app/format.ts'
import { dayInYear } from '../../../../lib/app/local-time.ts'
import { durationInWords } from '../../../../lib/app/relative-time.ts'
import { useStable } from '../../../../lib/app/use-stable.ts'
import { useToggled } from '../../../../lib/app/use-toggled.ts'
import { ErrorAlert } from '../../../../ui/Alert.tsx'
import { EmptyState } from '../../../../ui/app/EmptyState.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { Moment } from '../../../../ui/lazy/Moment.tsx'
import { NewEntriesButton } from '../../../../ui/lazy/NewEntriesButton.tsx'
import { Skeleton } from '../../../../ui/Skeleton.tsx'
import shared from '../sections.module.css'
import type { Entry } from './entry.ts'
import { type Day, daysOf, sentenceOfDay } from './folding.ts'
import styles from './TimelineList.module.css'
import { ActsRow, EntryRow, lineWhile, RunRow } from './TimelineRow.tsx'
import { hourAround, type Range } from './time-range.ts'
import type { TimelineFilter, useTimeline } from './use-timeline.ts'

type TimelineListProps = {
  deviceId: string
  timeline: ReturnType<typeof useTimeline>
  /** Number of matching entries, back to `timeline.countedBackTo` if the hub ended the count there; undefined while it is unknown. */
  total: number | undefined
  /** Whether entries of all kinds are shown. The sentence about a day mentions the device's connection only if this is true. */
  hasAllKinds: boolean
  isFiltered: boolean
  range: Range | 'between'
  openId: string | undefined
  onOpen: (entryId: string) => void
  onWiden: () => void
  onClear: () => void
}

/** Days with their entries, newest first. The line at the left shows when the device was connected. */
export function TimelineList({
  deviceId,
  timeline,
  total,
  hasAllKinds,
  isFiltered,
  range,
  openId,
  onOpen,
  onWiden,
  onClear,
}: TimelineListProps) {
  const { first, entries, hasMore, waiting } = timeline
  const days = useMemo(() => daysOf(entries ?? [], headOfDay), [entries])
  const [unfolded, toggleRun] = useToggled()
  const open = useStable(onOpen)
  if (!entries) {
    // Without a filter, the route's error page is shown, as on other pages with a list.
    if (first.error && !isFiltered) throw first.error
    if (first.error) return <ErrorAlert title="Could not load what happened." error={first.error} />
    return (
      <div className={`sheet bleed ${styles.list}`}>
        <Skeleton label="Loading what happened" />
      </div>
    )
  }
  const backTo = timeline.searchedBackTo
  return (
    <>
      <ErrorAlert title="Could not load what happened." error={first.error} />
      <NewEntriesButton waiting={waiting} onShow={timeline.showNew} />
      {entries.length === 0 && !hasMore ? (
        <EmptyState
          icon={History}
          title={isFiltered ? 'Nothing matches this filter.' : 'Nothing happened in this time.'}
          action={
            isFiltered ? (
              <Button onClick={onClear}>Clear</Button>
            ) : (
              range !== 'all' && <Button onClick={onWiden}>Show everything</Button>
            )
          }
        >
          {!isFiltered && range !== 'all' && <Nearest deviceId={deviceId} filter={timeline.filter} />}
        </EmptyState>
      ) : (
        <div className={`sheet bleed ${styles.list}`}>
          <p className={`row tiny muted ${styles.key}`} aria-hidden="true">
            <span />
            Connected
            <span />
            Not connected
          </p>
          {days.map((day, index) => (
            <DayPart
              key={day.day}
              deviceId={deviceId}
              day={day}
              isWhole={!hasMore || index < days.length - 1}
              hasAllKinds={hasAllKinds}
              openId={openId}
              onOpen={open}
              unfolded={unfolded}
              onRun={toggleRun}
            />
          ))}
          <div className={`wrap ${shared.foot} ${styles.foot}`}>
            {hasMore && (
              <Button variant="ghost" size="sm" busy={timeline.isLoadingMore} onClick={timeline.loadMore}>
                {backTo === undefined ? 'Show earlier' : 'Search further'}
              </Button>
            )}
            <span className="muted">
              {formatCount(entries.length)}
              {total !== undefined && ` of ${formatCount(Math.max(total, entries.length))}`} shown
              {timeline.countedBackTo !== undefined &&
                `, counted back to ${shortDay(timeline.countedBackTo)}`}
              {backTo !== undefined && `, searched back to ${shortDay(backTo)}`}
              {backTo === undefined && entries.length > 0 && `, back to ${shortDay(entries.at(-1)!.at)}`}
            </span>
            <ErrorAlert title="Could not load earlier entries." error={timeline.moreError} />
          </div>
        </div>
      )}
    </>
  )
}

/** The last time before an empty range when something happened, or the latest time if nothing happened before. */
function Nearest({
  deviceId,
  filter: { withinSecs: _, ...filter },
}: {
  deviceId: string
  filter: TimelineFilter
}) {
  const { since, until: __, ...whole } = filter
  const before = useNewest(deviceId, { ...whole, ...(since !== undefined && { until: since }) })
  const after = useNewest(deviceId, whole, before.isSuccess && before.at === undefined)
  const at = before.at ?? after.at
  if (at === undefined) return null
  return (
    <>
      The {before.at === undefined ? 'latest' : 'nearest'} time when something happened is <Moment at={at} />.{' '}
      <Link
        className="inline"
        from="/org_{$organization}/projects/$projectId/devices/$deviceId"
        to="./timeline"
        search={hourAround(Date.parse(at))}
      >
        See it
      </Link>
    </>
  )
}

/** Time of the newest entry that matches a filter. */
function useNewest(deviceId: string, filter: TimelineFilter, enabled = true) {
  const { data, isSuccess } = useActionState(
    'devices_QueryTimeline',
    { deviceId, filter, limit: 1 },
    { enabled },
  )
  return { isSuccess, at: data?.entries[0]?.at }
}

type DayPartProps = {
  deviceId: string
  day: Day
  isWhole: boolean
  hasAllKinds: boolean
  openId: string | undefined
  onOpen: (entryId: string) => void
  unfolded: ReadonlySet<string>
  onRun: (id: string) => void
}

function DayPart({ deviceId, day, isWhole, hasAllKinds, openId, onOpen, unfolded, onRun }: DayPartProps) {
  const sentence = isWhole ? sentenceOfDay(day, hasAllKinds, durationInWords) : ''
  const row = (entry: Entry) => (
    <EntryRow
      key={entry.entryId}
      deviceId={deviceId}
      entry={entry}
      isOpen={entry.entryId === openId}
      onOpen={onOpen}
    />
  )
  return (
    <>
      <h2 className={styles.day} data-line={lineWhile(day.entries[0]?.isConnected)}>
        <span>{day.day}</span>
        {sentence && <small>{sentence}</small>}
      </h2>
      <ul>
        {day.lines.flatMap(part => {
          if (part.type === 'entry') return [row(part.entry)]
          const id = part.entries[0]!.entryId
          const fold = { isOpen: unfolded.has(id), onOpen: () => onRun(id) }
          return [
            part.type === 'acts' ? (
              <ActsRow key={`acts of ${id}`} entries={part.entries} {...fold} />
            ) : (
              <RunRow key={`run of ${id}`} name={part.name} entries={part.entries} {...fold} />
            ),
            ...(unfolded.has(id) ? part.entries.map(row) : []),
          ]
        })}
      </ul>
    </>
  )
}

const day = { weekday: 'long', day: 'numeric', month: 'long' } as const
const weekday = new Intl.DateTimeFormat('en-GB', day)
const weekdayWithYear = new Intl.DateTimeFormat('en-GB', { ...day, year: 'numeric' })

/** Heading of a day, "Monday 23 November", followed by the year if it is not the current year. */
function headOfDay(ms: number): string {
  const date = new Date(ms)
  return (date.getFullYear() === new Date().getFullYear() ? weekday : weekdayWithYear).format(date)
}

/** Date of a time, "14 November", followed by the year if it is not the current year. */
function shortDay(at: string): string {
  return dayInYear(Date.parse(at), Date.now())
}
