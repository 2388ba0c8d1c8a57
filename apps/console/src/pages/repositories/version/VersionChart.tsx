import { formatCount } from '../../../lib/app/format.ts'
import { hourAndMinute, shortDay } from '../../../lib/app/local-time.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { Section } from '../../../ui/app/Section.tsx'
import chart from '../../../ui/lazy/chart.module.css'
import { gridLines, linePath, unbroken } from './series-path.ts'
import type { Usage } from './usage.ts'
import styles from './VersionChart.module.css'

const DAY_MS = 24 * 60 * 60 * 1000
const DAYS = 14
const TITLE = 'Devices on this version, last 14 days'
/** Size of the drawing in SVG units. CSS stretches the drawing to the size of its box. */
const WIDTH = 680
const HEIGHT = 170
/** Number of parts into which the labels divide the time axis, on wide screens and on phones. */
const AXIS_PARTS = 6
const AXIS_PARTS_ON_PHONES = 3
/** Minimum distance between the labels of two flags, in percent of the box. */
const FLAG_DISTANCE = 16
/** Minimum distance between the labels at the ends of the two lines, in percent of the box. */
const END_DISTANCE = 20

type VersionChartProps = { series: NonNullable<Usage['series']>; moves: Usage['moves']; name: string }

/**
 * Devices that ran the version, hour by hour. The second line is for the version from which a tag moved to this version, else for the
 * version created before it. Flags mark the times at which a tag moved to the version.
 */
export function VersionChart({ series, moves, name }: VersionChartProps) {
  const isNarrow = useIsNarrow()
  if (series.counts.length < 2)
    return (
      <Section title={TITLE}>
        <p className="muted">The line begins with the next count, within an hour.</p>
      </Section>
    )
  const fromMs = Date.parse(series.from)
  const stepMs = series.stepSecs * 1000
  const spanMs = Math.max(stepMs, (series.counts.length - 1) * stepMs)
  const compared = series.compared?.counts.some(count => count) ? series.compared : undefined
  const highest = Math.max(1, ...[...series.counts, ...(compared?.counts ?? [])].map(count => count ?? 0))
  const lines = gridLines(highest)
  const top = lines.at(-1)!
  const x = (index: number) => (WIDTH * index * stepMs) / spanMs
  const y = (count: number) => HEIGHT * (1 - count / top)
  const now = series.counts.findLast(count => count !== null) ?? 0
  const then = compared?.counts.findLast(count => count !== null) ?? 0
  const areEndsClose = Math.abs(now - then) / top < END_DISTANCE / 100
  // Days, or times of day while the samples cover less than two days.
  const axisLabel = spanMs > 2 * DAY_MS ? shortDay : hourAndMinute
  const parts = isNarrow ? AXIS_PARTS_ON_PHONES : AXIS_PARTS
  const flags = moves
    .filter(({ isHere, at }) => isHere && Date.parse(at) >= fromMs)
    .map(({ tag, at }) => ({ tag, atMs: Date.parse(at), left: (100 * (Date.parse(at) - fromMs)) / spanMs }))
    .filter(({ left }) => left <= 100)
    .sort((a, b) => a.left - b.left)
  const labelled = flags.filter(
    (flag, index) => index === 0 || flag.left - flags[index - 1]!.left >= FLAG_DISTANCE,
  )
  return (
    <Section
      title={TITLE}
      aside={
        series.counts.length < (DAYS * DAY_MS) / stepMs && (
          <span className="muted">Counted since {shortDay(fromMs)}</span>
        )
      }
    >
      <figure className={styles.chart}>
        <div
          className={`${chart.frame} ${styles.frame}`}
          role="img"
          aria-label={wordsOf(series, compared, name)}
        >
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {lines.slice(1).map(count => (
              <path key={count} d={`M0 ${y(count)}H${WIDTH}`} />
            ))}
            {flags.map(({ tag, left }) => (
              <path
                key={`${tag} ${left}`}
                className={styles.flag}
                d={`M${(left * WIDTH) / 100} 0V${HEIGHT}`}
              />
            ))}
            {unbroken(series.counts).map(part => (
              <path
                key={part[0]!.index}
                className={styles.area}
                d={`${linePath(part, x, y)}L${x(part.at(-1)!.index)} ${HEIGHT}L${x(part[0]!.index)} ${HEIGHT}Z`}
              />
            ))}
            {compared && (
              <path
                className={styles.compared}
                d={unbroken(compared.counts)
                  .map(part => linePath(part, x, y))
                  .join('')}
              />
            )}
            <path
              className={styles.line}
              d={unbroken(series.counts)
                .map(part => linePath(part, x, y))
                .join('')}
            />
            <path className={styles.base} d={`M0 ${HEIGHT}H${WIDTH}`} />
          </svg>
          <span aria-hidden="true">
            {lines.slice(1).map(count => (
              <span
                key={count}
                className={`${chart.label} ${styles.count}`}
                style={{ top: `${(100 * y(count)) / HEIGHT}%` }}
              >
                {formatCount(count)}
              </span>
            ))}
            {labelled.map(({ tag, atMs, left }) => (
              <span
                key={`${tag} ${left}`}
                className={`${chart.label} ${styles.tag} ${left > 50 ? styles.left : ''}`}
                style={{ left: `${left}%` }}
              >
                <b>{tag}</b>
                {!isNarrow && ` ${shortDay(atMs)} ${hourAndMinute(atMs)}`}
              </span>
            ))}
            <span className={`${chart.label} ${styles.end}`} style={{ top: `${(100 * y(now)) / HEIGHT}%` }}>
              <b>{formatCount(now)}</b>
              <br />
              {name}
            </span>
            {compared && !areEndsClose && (
              <span
                className={`${chart.label} ${styles.end}`}
                style={{ top: `${(100 * y(then)) / HEIGHT}%` }}
              >
                <b>{formatCount(then)}</b>
                <br />
                {compared.name}
              </span>
            )}
          </span>
        </div>
        <div className={`${chart.axis} ${styles.axis}`} aria-hidden="true">
          {Array.from({ length: parts }, (_, part) => (100 * part) / parts).map(left => (
            <span key={left} style={{ left: `${left}%` }}>
              {axisLabel(fromMs + (spanMs * left) / 100)}
            </span>
          ))}
          <span className={chart.now}>now</span>
        </div>
      </figure>
    </Section>
  )
}

function wordsOf(
  { counts }: VersionChartProps['series'],
  compared: VersionChartProps['series']['compared'],
  name: string,
): string {
  const ends = (all: readonly (number | null)[]) =>
    `${formatCount(all.find(count => count !== null) ?? 0)} at first, ${formatCount(all.findLast(count => count !== null) ?? 0)} now`
  const others = compared ? ` Devices on ${compared.name}: ${ends(compared.counts)}.` : ''
  return `Devices on ${name}: ${ends(counts)}.${others}`
}
