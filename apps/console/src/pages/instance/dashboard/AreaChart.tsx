import shared from '../../../ui/lazy/axis.module.css'
import styles from './panels.module.css'

/** Size of the drawing in SVG units. CSS stretches the drawing to the size of its box. */
const WIDTH = 600
const HEIGHT = 72
/** Space above the highest value, in SVG units. */
const TOP = 4

type AreaChartProps = {
  /** Text alternative of the picture. */
  label: string
  values: readonly number[]
  /** Texts below the drawing, evenly spaced. */
  axis: readonly string[]
}

/** Area chart of values at equal distances, on a scale from 0 to the highest value. */
export function AreaChart({ label, values, axis }: AreaChartProps) {
  const highest = Math.max(1e-9, ...values)
  const points = values.map(
    (value, index) =>
      `${round((WIDTH * index) / Math.max(1, values.length - 1))} ${round(TOP + (HEIGHT - TOP) * (1 - value / highest))}`,
  )
  return (
    <div className={styles.plot}>
      <svg role="img" aria-label={label} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        <path className={styles.area} d={`M0 ${HEIGHT} L${points.join(' L')} L${WIDTH} ${HEIGHT}Z`} />
        <path className={styles.line} d={`M${points.join(' L')}`} vectorEffect="non-scaling-stroke" />
      </svg>
      <div className={shared.axis} aria-hidden="true">
        {axis.map((text, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a text has no identity but its position
          <span key={index}>{text}</span>
        ))}
      </div>
    </div>
  )
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
