import { formatBytes } from '../../../lib/app/format.ts'
import { shortDay } from '../../../lib/app/local-time.ts'
import { AreaChart } from './AreaChart.tsx'
import type { Health } from './health.ts'
import styles from './panels.module.css'
import { Unread } from './Unread.tsx'

const PARTS = { Events: 'Device events', Audit: 'Audit', History: 'History' } as const

/** Size of the database, its growth and its largest parts. */
export function DatabasePanel({ part: { value, failure } }: { part: Health['database'] }) {
  const sizes = value ? [...value.days.map(({ sizeBytes }) => sizeBytes), value.sizeBytes] : []
  const first = value?.days[0]
  return (
    <section className={`sheet ${styles.chart}`} aria-labelledby="database">
      <header>
        <h2 id="database">Database</h2>
      </header>
      {value ? (
        <>
          <p className={styles.figure}>
            <b className="figure">{formatBytes(value.sizeBytes)}</b>
            <span className="help">{growth(value.growthBytesPerDay)}</span>
          </p>
          {first && (
            <AreaChart
              label={`Size of the database since ${shortDay(Date.parse(first.day))}, from ${formatBytes(first.sizeBytes)} to ${formatBytes(value.sizeBytes)}`}
              values={sizes}
              axis={[shortDay(Date.parse(first.day)), 'now']}
            />
          )}
          <p className={styles.facts}>
            {value.parts.map(({ name, sizeBytes }) => (
              <span key={name}>
                {PARTS[name]} <b>{formatBytes(sizeBytes)}</b>
              </span>
            ))}
          </p>
        </>
      ) : (
        <Unread failure={failure} />
      )}
    </section>
  )
}

function growth(bytesPerDay: number | undefined): string {
  if (bytesPerDay === undefined) return 'growth is measured after two days'
  if (Math.abs(bytesPerDay) < 1024) return 'does not grow'
  return bytesPerDay > 0
    ? `grows ${formatBytes(bytesPerDay)} a day`
    : `shrinks ${formatBytes(-bytesPerDay)} a day`
}
