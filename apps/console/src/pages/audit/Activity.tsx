import type { ActionOutput } from '@muster/actions/client'
import { formatCount } from '../../lib/app/format.ts'
import { hourAndMinute, shortDay } from '../../lib/app/local-time.ts'
import { durationInWords } from '../../lib/app/relative-time.ts'
import shared from '../../ui/lazy/axis.module.css'
import styles from './Activity.module.css'

/** Counts of log entries, and of failures, per time interval. */
type LogActivity = NonNullable<ActionOutput<'projects_QueryAuditLogActivity'>['activity']>

type ActivityProps = {
  /** `undefined` while the numbers load, `null` if the hub could not count the entries in time. */
  activity: LogActivity | null | undefined
  /** Whether the numbers could not be loaded. */
  isFailed: boolean
}

const BIN_WIDTH = 10
const HEIGHT = 36
/** Height of the red cap that marks failures. */
const CAP = 4
/** Height of the line that represents an interval without entries. */
const EMPTY = 1
/** Positions of the axis labels, as fractions of the time range. */
const AXIS = [0, 0.25, 0.5, 0.75, 1]
const DAY_MS = 24 * 60 * 60 * 1000

/** Numbers of log entries over time, as text and as bars on a square root scale. A red cap on a bar marks failures. */
export function Activity({ activity, isFailed }: ActivityProps) {
  if (!activity) {
    const instead = isFailed ? 'The entries could not be counted.' : 'Counting…'
    return (
      <div className={`sheet ${styles.activity}`}>
        <div className={styles.count}>
          <b className="figure">–</b>
          <span className="help">
            {activity === null ? 'Too many entries to count within 2 s.' : instead}
          </span>
        </div>
        <div className={styles.bars} />
      </div>
    )
  }
  const { entryCount, failureCount, bins, from, until } = activity
  const [fromMs, untilMs] = [Date.parse(from), Date.parse(until)]
  const secs = Math.max(0, (untilMs - fromMs) / 1000)
  const words = `${entryCount === 1 ? 'entry' : 'entries'} in ${spanOf(secs)}, ${formatCount(failureCount)} failed`
  const most = Math.max(1, ...bins.map(bin => bin.entryCount))
  return (
    <div className={`sheet ${styles.activity}`}>
      <div className={styles.count}>
        <b className="figure">{formatCount(entryCount)}</b>
        <span className="help">{words}</span>
      </div>
      <div aria-hidden="true">
        <svg
          className={styles.bars}
          viewBox={`0 0 ${bins.length * BIN_WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          <title>Entries over time</title>
          {bins.map((bin, index) => {
            const room = HEIGHT - CAP - 2
            const height =
              bin.entryCount === 0 ? EMPTY : Math.max(CAP, Math.sqrt(bin.entryCount / most) * room)
            const place = { x: index * BIN_WIDTH + 1, width: BIN_WIDTH - 2 }
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: a bar has no identity but its position
              <g key={index}>
                <rect
                  {...place}
                  y={HEIGHT - height}
                  height={height}
                  className={bin.entryCount === 0 ? styles.empty : undefined}
                />
                {bin.failureCount > 0 && (
                  <rect {...place} y={HEIGHT - height - CAP - 1} height={CAP} className={styles.failed} />
                )}
              </g>
            )
          })}
        </svg>
        <div className={shared.axis}>
          {AXIS.map(share => {
            const at = fromMs + (untilMs - fromMs) * share
            return <span key={share}>{untilMs - fromMs > 2 * DAY_MS ? shortDay(at) : hourAndMinute(at)}</span>
          })}
        </div>
      </div>
    </div>
  )
}

/** A duration in words: whole days above 48 h ("7 days"), whole hours from 2 h on ("24 hours"), else "1 h 30 min". */
function spanOf(secs: number): string {
  const hours = Math.round(secs / 3600)
  if (hours > 48) return `${Math.round(hours / 24)} days`
  if (hours >= 2) return `${hours} hours`
  return durationInWords(secs)
}
