import { useEffect, useRef } from 'react'
import { centreIn } from '../../lib/app/centre-in.ts'
import { formatCount } from '../../lib/app/format.ts'
import { useShownFirst } from '../../lib/app/use-shown-first.ts'
import { Mark, type MarkState } from './Mark.tsx'
import styles from './Segments.module.css'

export type SegmentOption<T extends string> = {
  value: T
  label: string
  /** Null if it could not be counted. */
  count?: number | null | undefined
  mark?: MarkState
  isOff?: boolean
}

type SegmentsProps<T extends string> = {
  label: string
  value: T
  options: readonly SegmentOption<T>[]
  onChange: (value: T) => void
  /** Reason why counts are null. */
  uncounted?: string
  /** Number of characters whose room each count keeps, also while it loads. Options that never have a count lack the key `count`. */
  digits?: number
}

/**
 * A filter with a few options. Their counts are not part of the accessible names. Where the row is wider than the screen, the chosen
 * option scrolls into view.
 */
export function Segments<T extends string>({
  label,
  value,
  options,
  onChange,
  uncounted,
  digits,
}: SegmentsProps<T>) {
  const [shown, choose] = useShownFirst(value, onChange)
  const box = useRef<HTMLDivElement>(null)
  const countCount = options.filter(({ count }) => count !== undefined).length
  // biome-ignore lint/correctness/useExhaustiveDependencies: options move when the choice changes and when counts load
  useEffect(() => {
    const chosen = box.current?.querySelector('[aria-pressed="true"]')
    // On phones two filters can share one row, which then scrolls instead of the filter.
    const row = box.current?.parentElement?.matches('.tools') ? box.current.parentElement : undefined
    if (!box.current || !chosen?.previousElementSibling?.matches('button')) return
    centreIn(box.current, chosen)
    if (row) centreIn(row, chosen)
  }, [value, countCount])
  return (
    <div ref={box} className="segments">
      <fieldset>
        <legend className="visually-hidden">{label}</legend>
        {options.map(option => (
          <button
            key={option.value}
            type="button"
            aria-pressed={option.value === shown}
            disabled={option.isOff}
            {...(option.count === null && { 'data-tip': uncounted, 'aria-description': uncounted })}
            onClick={() => choose(option.value)}
          >
            {option.mark && <Mark state={option.mark} />}
            {option.label}
            {(option.count !== undefined || (digits !== undefined && 'count' in option)) && (
              <span
                className={styles.count}
                aria-hidden="true"
                style={digits === undefined ? undefined : { minWidth: `${digits}ch` }}
              >
                {option.count === null ? '–' : option.count !== undefined && formatCount(option.count)}
              </span>
            )}
          </button>
        ))}
      </fieldset>
    </div>
  )
}
