import type { ActionOutput } from '@muster/actions/client'
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import { useNow } from '../../../../lib/app/clock.ts'
import { formatCount } from '../../../../lib/app/format.ts'
import { hourAndMinute } from '../../../../lib/app/local-time.ts'
import chart from '../../../../ui/lazy/chart.module.css'
import {
  comparison,
  lowestDip,
  recordedSince,
  type Sample,
  samplesOf,
  unbroken,
} from '../../shared/connected-series.ts'
import styles from './ConnectedArea.module.css'

const DAY_MS = 24 * 60 * 60 * 1000
/** Time before now whose label would touch the word "now" on a phone, in milliseconds. */
const PHONE_NOW_MS = 4 * 3_600_000
const AXIS_HOURS = 4
/** Size of the drawing in SVG units. CSS stretches the drawing to the size of its box. */
const WIDTH = 1440
const HEIGHT = 100
/** Space, in SVG units, above the height that stands for all devices. */
const TOP = 4

type ConnectedAreaProps = {
  series: ActionOutput<'projects_GetSummary'>['connectedSeries']
  connectedCount: number
  deviceCount: number
}

/** Area chart of the connected devices in the last 24 h, on a scale from 0 to all devices. Pointer and arrow keys show single values. */
export function ConnectedArea({ series, connectedCount, deviceCount }: ConnectedAreaProps) {
  const nowMs = useNow()
  const samples = samplesOf(series, connectedCount, nowMs)
  const [at, setAt] = useState<number>()
  const highest = Math.max(1, deviceCount, ...samples.map(({ count }) => count ?? 0))
  const x = (atMs: number) => WIDTH * Math.max(0, 1 - (nowMs - atMs) / DAY_MS)
  const y = (count: number) => TOP + (HEIGHT - TOP) * (1 - count / highest)
  const percent = (sample: Sample) => ({
    left: `${(100 * x(sample.atMs)) / WIDTH}%`,
    top: `${(100 * y(sample.count ?? 0)) / HEIGHT}%`,
  })
  const parts = unbroken(samples)
  const line = parts
    .map(part => `M${part.map(({ atMs, count }) => `${round(x(atMs))} ${round(y(count!))}`).join(' L')}`)
    .join(' ')
  const area = parts
    .map(part => {
      const points = part.map(({ atMs, count }) => `L${round(x(atMs))} ${round(y(count!))}`).join(' ')
      return `M${round(x(part[0]!.atMs))} ${HEIGHT} ${points} L${round(x(part.at(-1)!.atMs))} ${HEIGHT}Z`
    })
    .join(' ')
  const dip = lowestDip(samples)
  const compared = comparison(samples, nowMs)
  const read = at === undefined ? undefined : samples[Math.min(at, samples.length - 1)]

  function onPointerMove({ clientX, currentTarget }: PointerEvent) {
    const { left, width } = currentTarget.getBoundingClientRect()
    const wantedMs = nowMs - DAY_MS * (1 - (clientX - left) / width)
    const distances = samples.map(({ atMs }) => Math.abs(atMs - wantedMs))
    setAt(distances.indexOf(Math.min(...distances)))
  }
  function onKeyDown(event: KeyboardEvent) {
    const last = samples.length - 1
    const from = at ?? last
    if (event.key === 'ArrowLeft') setAt(Math.max(0, from - 1))
    else if (event.key === 'ArrowRight') setAt(Math.min(last, from + 1))
    else if (event.key === 'Home') setAt(0)
    else if (event.key === 'End') setAt(last)
    else return
    event.preventDefault()
  }
  return (
    <figure className={styles.area}>
      <figcaption>
        <b>Connected, last 24 h</b>
        <span>
          {compared ??
            (parts.some(part => part.length > 1)
              ? recordedSince(samples, nowMs)
              : 'The line begins with the next count, within 10 minutes.')}
        </span>
      </figcaption>
      <div
        className={`${chart.frame} ${styles.plot}`}
        role="slider"
        tabIndex={0}
        aria-label="Connected devices in the last 24 hours"
        aria-valuemin={0}
        aria-valuemax={samples.length - 1}
        aria-valuenow={at ?? samples.length - 1}
        aria-valuetext={read ? readText(read, nowMs) : wholeText(samples, dip, deviceCount)}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setAt(undefined)}
        onBlur={() => setAt(undefined)}
        onKeyDown={onKeyDown}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path className={styles.fill} d={area} />
          <path className={styles.all} d={`M0 ${round(y(deviceCount))}H${WIDTH}`} />
          <path className={styles.line} d={line} />
        </svg>
        {dip && !read && (
          <>
            <span className={styles.point} style={percent(dip)} />
            <span className={tipClass(x(dip.atMs))} style={percent(dip)} aria-hidden="true">
              {formatCount(dip.count)} at {hourAndMinute(dip.atMs)}
              {dip.minutes !== undefined && (
                <span className="hidden-on-phones">, back after {dip.minutes} min</span>
              )}
            </span>
          </>
        )}
        {read && (
          <>
            <span className={styles.cursor} style={{ left: percent(read).left }} />
            {read.count !== null && <span className={styles.point} style={percent(read)} />}
            <span className={tipClass(x(read.atMs))} style={percent(read)} aria-hidden="true">
              {readText(read, nowMs)}
            </span>
          </>
        )}
      </div>
      <div className={`${chart.axis} ${styles.axis}`} aria-hidden="true">
        {axisTimes(nowMs).map((atMs, index) => (
          <span
            key={atMs}
            className={index % 2 || atMs > nowMs - PHONE_NOW_MS ? 'hidden-on-phones' : undefined}
            style={{ left: `${(100 * x(atMs)) / WIDTH}%` }}
          >
            {hourAndMinute(atMs)}
          </span>
        ))}
        <span className={chart.now}>now</span>
      </div>
    </figure>
  )
}

const round = (number: number) => Math.round(number * 10) / 10

const tipClass = (x: number) => (x > WIDTH * 0.6 ? `${styles.tip} ${styles.left}` : styles.tip)

/** Times of the axis labels: whole hours of the local day, oldest first. Hours near an end of the axis are left out. */
function axisTimes(nowMs: number): number[] {
  const time = new Date(nowMs - DAY_MS)
  time.setMinutes(0, 0, 0)
  const times: number[] = []
  while (time.getTime() < nowMs) {
    const isInside = time.getTime() > nowMs - DAY_MS + 40 * 60_000 && time.getTime() < nowMs - 100 * 60_000
    if (isInside && time.getHours() % AXIS_HOURS === 0) times.push(time.getTime())
    time.setHours(time.getHours() + 1)
  }
  return times
}

function readText({ atMs, count }: Sample, nowMs: number): string {
  const time = nowMs - atMs < 60_000 ? 'now' : `at ${hourAndMinute(atMs)}`
  return count === null ? `not counted ${time}` : `${formatCount(count)} ${time}`
}

function wholeText(
  samples: readonly Sample[],
  dip: ReturnType<typeof lowestDip>,
  deviceCount: number,
): string {
  const lowest = dip ? `, lowest ${formatCount(dip.count)} at ${hourAndMinute(dip.atMs)}` : ''
  return `${formatCount(samples.at(-1)!.count!)} now of ${formatCount(deviceCount)} devices${lowest}`
}
