import { Link } from '@tanstack/react-router'
import { formatCount } from '../../../lib/app/format.ts'
import { hourAndMinute } from '../../../lib/app/local-time.ts'
import { AreaChart } from './AreaChart.tsx'
import type { Health } from './health.ts'
import styles from './panels.module.css'
import { Unread } from './Unread.tsx'

/** Number of texts below the chart. */
const AXIS_TEXTS = 5

/** Events of devices a second, now and in the last 24 h. */
export function EventsPanel({ part: { value, failure } }: { part: Health['events'] }) {
  const bins = value?.bins ?? []
  const peak = bins.reduce<(typeof bins)[number] | undefined>(
    (most, bin) => (bin.perSec > (most?.perSec ?? 0) ? bin : most),
    undefined,
  )
  // A hub that was started lately has counts only since then. The chart is empty before the first one.
  const sinceMs = value?.recordedSince === undefined ? undefined : Date.parse(value.recordedSince)
  return (
    <section className={`sheet ${styles.chart}`} aria-labelledby="device-events">
      <header>
        <h2 id="device-events">Device events</h2>
        <Link to="/admin/projects" search={{ sort: '-stored' }} className={styles.way}>
          Projects by stored data
        </Link>
      </header>
      {value ? (
        <>
          <p className={styles.figure}>
            <b className="figure">{rate(value.perSec)}</b>
            <span className="help">a second now</span>
          </p>
          <AreaChart
            label={
              peak
                ? `Events a second in the last 24 hours, at most ${rate(peak.perSec)} at ${hourAndMinute(Date.parse(peak.startsAt))}`
                : 'No events in the last 24 hours'
            }
            values={bins.map(({ perSec }) => perSec)}
            axis={Array.from({ length: AXIS_TEXTS }, (_, index) => {
              const bin = bins[Math.round(((bins.length - 1) * index) / (AXIS_TEXTS - 1))]
              return index === AXIS_TEXTS - 1 || !bin ? 'now' : hourAndMinute(Date.parse(bin.startsAt))
            })}
          />
          <p className={styles.facts}>
            {peak && (
              <span>
                Peak <b>{rate(peak.perSec)}</b> at {hourAndMinute(Date.parse(peak.startsAt))}, over 15 minutes
              </span>
            )}
            <span>
              24 h <b>{formatCount(value.dayCount)}</b>
            </span>
            {sinceMs !== undefined && <span>Recorded since {hourAndMinute(sinceMs)}</span>}
          </p>
        </>
      ) : (
        <Unread failure={failure} />
      )}
    </section>
  )
}

/** Events a second: one decimal below 10. */
function rate(perSec: number): string {
  return perSec < 10 ? String(Math.round(perSec * 10) / 10) : formatCount(Math.round(perSec))
}
