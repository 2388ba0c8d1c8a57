import { type ReactNode, useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { hourAndMinute, localDay, momentInWords, shortDay } from '../../../lib/app/local-time.ts'
import { lastNight, lastWeekend } from '../../../lib/app/out-of-hours.ts'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import { Button } from '../../../ui/Button.tsx'
import pick from '../Pick.module.css'
import { Pick } from '../Pick.tsx'
import type { RangeCounting } from '../use-log.ts'
import styles from './TimePick.module.css'
import {
  type Hours,
  hoursOf,
  isSame,
  MOVING,
  type Moving,
  rangeLabel,
  rangeOf,
  rangeWords,
  type TimeRange,
  type TimeSearch,
} from './time-range.ts'

type TimePickProps = {
  search: TimeSearch
  /** Counts the entries of a range before it is applied. Absent for a list that the hub does not count. */
  counting?: RangeCounting | undefined
  /** Noun of the rows, in the plural. */
  what?: string
  /** Whether the list can be limited to hours of the day. */
  hasHours?: boolean
  onChange: (search: Required<TimeSearch>) => void
}

/** Filter that limits a list to a range of time and to hours of the day. A change takes effect when "Apply" is pressed. */
export function TimePick({ search, counting, what = 'entries', hasHours = true, onChange }: TimePickProps) {
  const nowMs = useNow()
  const isOn = Object.values(search).some(Boolean)
  return (
    <Pick label="Time" value={rangeLabel(search, nowMs)} isOn={isOn} className={styles.time} keys="f">
      {close => (
        <TimeForm
          search={search}
          counting={counting}
          what={what}
          hasHours={hasHours}
          nowMs={nowMs}
          onApply={next => {
            close()
            onChange(next)
          }}
        />
      )}
    </Pick>
  )
}

/** Fields of the form. Dates are `YYYY-MM-DD`, times `HH:MM`, both local; empty for none. */
type Draft = {
  moving?: Moving
  fromDay: string
  fromTime: string
  toDay: string
  toTime: string
  isDaily: boolean
}

const NO_DRAFT: Draft = { fromDay: '', fromTime: '', toDay: '', toTime: '', isDaily: false }

type TimeFormProps = Required<Pick<TimePickProps, 'search' | 'what' | 'hasHours'>> & {
  counting: RangeCounting | undefined
  nowMs: number
  onApply: (search: Required<TimeSearch>) => void
}

function TimeForm({ search, counting, what, hasHours, nowMs, onApply }: TimeFormProps) {
  const [draft, setDraft] = useState(() => draftOf(search, nowMs))
  const range = draftRange(draft, nowMs)
  const [night, weekend] = [lastNight(nowMs), lastWeekend(nowMs)]
  const hours = draft.isDaily ? hoursOf(`${draft.fromTime}-${draft.toTime}`) : undefined
  const isWrong = range.fromMs !== undefined && range.untilMs !== undefined && range.fromMs >= range.untilMs
  const isEmpty = range.fromMs === undefined && range.untilMs === undefined && !hours
  const presets = [
    { label: 'Any time', draft: NO_DRAFT, isOn: isEmpty },
    ...(['hour', 'day'] as const).map(moving => movingPreset(moving, draft, nowMs)),
    {
      label: 'Last night',
      note: noteOf(night, '18:00 to 08:00', nowMs),
      draft: fixedDraft(night),
      isOn: !draft.moving && isSame(range, night),
    },
    movingPreset('week', draft, nowMs),
    {
      label: 'Last weekend',
      note: noteOf(weekend, 'Fri 18:00 to Mon 08:00', nowMs),
      draft: fixedDraft(weekend),
      isOn: !draft.moving && isSame(range, weekend),
    },
  ]
  // Typing into a field replaces a moving range, such as the last hour, by a fixed range.
  const change = (next: Partial<Draft>) => {
    const { moving: _, ...rest } = draft
    setDraft({ ...rest, ...next })
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        onApply(searchOf(draft, range))
      }}
    >
      <div className={`${pick.options} ${styles.presets}`}>
        {presets.map(({ label, note, draft: next, isOn }) => (
          <button
            key={label}
            type="button"
            aria-pressed={isOn}
            onClick={() => setDraft(next)}
            onDoubleClick={() => onApply(searchOf(next, draftRange(next, nowMs)))}
          >
            {label}
            {note && <small className="tiny">{note}</small>}
          </button>
        ))}
      </div>
      <div className={styles.fields}>
        <Moment
          label="From"
          day={draft.fromDay}
          time={draft.fromTime}
          onChange={(fromDay, fromTime) => change({ fromDay, fromTime })}
        />
        <Moment
          label="To"
          day={draft.toDay}
          time={draft.toTime}
          onChange={(toDay, toTime) => change({ toDay, toTime })}
        />
        {hasHours && (
          <label className="check">
            <input
              type="checkbox"
              checked={draft.isDaily}
              onChange={event => setDraft({ ...draft, isDaily: event.target.checked })}
            />
            <span>
              Only between these times of day <small>(optional)</small>
            </span>
          </label>
        )}
        <p className={styles.range} role="status">
          {isWrong ? (
            'The end is before the beginning.'
          ) : isEmpty ? (
            `All ${what}.`
          ) : (
            <Said range={range} hours={hours} nowMs={nowMs}>
              {counting && range.fromMs !== undefined && (
                <RangeCount counting={counting} search={searchOf(draft, range)} />
              )}
            </Said>
          )}
        </p>
      </div>
      <footer>
        <span className="tiny muted">Kept in the address: the link shows the same to others.</span>
        <Button size="sm" onClick={() => onApply(NO_SEARCH)}>
          Clear
        </Button>
        <Button size="sm" variant="primary" type="submit" disabled={isWrong}>
          Apply
        </Button>
      </footer>
    </form>
  )
}

/** Note below a preset range: "since …" while the range has not ended, afterwards `ended`, which says the times of day. */
function noteOf({ fromMs, untilMs }: Required<TimeRange>, ended: string, nowMs: number): string {
  return untilMs > nowMs ? `since ${momentInWords(fromMs, nowMs).text}` : ended
}

type SaidProps = { range: TimeRange; hours: Hours | undefined; nowMs: number; children: ReactNode }

/** The range as a sentence, with its length and, as `children`, the number of its entries. */
function Said({ range, hours, nowMs, children }: SaidProps) {
  const { when, lengths } = rangeWords(range, nowMs)
  const length = lengths.join(', ')
  return (
    <>
      {when}
      {hours && ` Each day only from ${hours.from} to ${hours.to}.`}
      {(length !== '' || children) && (
        <>
          {' '}
          {length}
          {length !== '' && children && ', '}
          {children}.
        </>
      )}
    </>
  )
}

/** The number of entries in a time range. It is requested after a pause in the changes of the form. */
function RangeCount({ counting, search }: { counting: RangeCounting; search: Required<TimeSearch> }) {
  const text = JSON.stringify(search)
  const asked = useDebounced(text)
  const { data, isError } = useActionState(
    counting.action,
    counting.inputOf({ ...NO_SEARCH, ...(JSON.parse(asked) as TimeSearch) }) as never,
  )
  if (asked !== text || (!data && !isError)) return 'counting…'
  if (!data?.activity) return 'entries not counted within 2 s'
  const { entryCount, failureCount } = data.activity
  if (counting.isFailed) return <b>{counted(failureCount, 'failure')}</b>
  return (
    <b>
      {formatCount(entryCount)} {entryCount === 1 ? 'entry' : 'entries'}
    </b>
  )
}

const NO_SEARCH: Required<TimeSearch> = {
  time: undefined,
  from: undefined,
  to: undefined,
  hours: undefined,
}

function movingPreset(moving: Moving, draft: Draft, nowMs: number) {
  const { label, ms } = MOVING[moving]
  const from = nowMs - ms
  const notes = {
    hour: `${hourAndMinute(from)} to now`,
    day: `since yesterday, ${hourAndMinute(from)}`,
    week: `since ${shortDay(from)}`,
  }
  return {
    label,
    note: notes[moving],
    draft: { ...fixedDraft({ fromMs: from }), moving },
    isOn: draft.moving === moving,
  }
}

type MomentProps = { label: string; day: string; time: string; onChange: (day: string, time: string) => void }

function Moment({ label, day, time, onChange }: MomentProps) {
  return (
    <fieldset className="field">
      <legend className="label">
        {label} <small>(optional)</small>
      </legend>
      <div className={styles.moment}>
        <input
          className="input"
          type="date"
          aria-label={`${label}, date`}
          max="9999-12-31"
          value={day}
          onChange={event => onChange(event.target.value, time)}
        />
        <input
          className="input tabular"
          type="time"
          aria-label={`${label}, time of day`}
          value={time}
          onChange={event => onChange(day, event.target.value)}
        />
      </div>
    </fieldset>
  )
}

function draftOf(search: TimeSearch, nowMs: number): Draft {
  const range = fixedDraft(rangeOf(search, nowMs))
  const hours = hoursOf(search.hours)
  return {
    ...range,
    ...(search.time && { moving: search.time }),
    ...(hours && { fromTime: hours.from, toTime: hours.to, isDaily: true }),
  }
}

function fixedDraft({ fromMs, untilMs }: TimeRange): Draft {
  return {
    fromDay: fromMs === undefined ? '' : localDay(fromMs),
    fromTime: fromMs === undefined ? '' : hourAndMinute(fromMs),
    toDay: untilMs === undefined ? '' : localDay(untilMs),
    toTime: untilMs === undefined ? '' : hourAndMinute(untilMs),
    isDaily: false,
  }
}

/** Range that the form describes. A day without a time begins or ends at midnight. The hours of the day are a separate filter. */
function draftRange(draft: Draft, nowMs: number): TimeRange {
  if (draft.moving) return rangeOf({ time: draft.moving }, nowMs)
  const fromMs = momentOf(draft.fromDay, draft.fromTime, 0)
  const untilMs = momentOf(draft.toDay, draft.toTime, 1)
  return { ...(fromMs !== undefined && { fromMs }), ...(untilMs !== undefined && { untilMs }) }
}

function momentOf(day: string, time: string, daysLater: number): number | undefined {
  if (!/^[1-9]\d{3}-/.test(day)) return undefined
  const ms = time === '' ? new Date(`${day}T00:00`).setHours(24 * daysLater) : Date.parse(`${day}T${time}`)
  return Number.isNaN(ms) ? undefined : ms
}

function searchOf(draft: Draft, { fromMs, untilMs }: TimeRange): Required<TimeSearch> {
  const hours = draft.isDaily ? hoursOf(`${draft.fromTime}-${draft.toTime}`) : undefined
  return {
    time: draft.moving,
    from: draft.moving || fromMs === undefined ? undefined : iso(fromMs),
    to: draft.moving || untilMs === undefined ? undefined : iso(untilMs),
    hours: hours && `${hours.from}-${hours.to}`,
  }
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString().replace('.000Z', 'Z')
}
