import { formatCount } from '../../lib/app/format.ts'
import { Mark, type MarkState } from './Mark.tsx'

export type SegmentOption<T extends string> = {
  value: T
  label: string
  count?: number | undefined
  mark?: MarkState
}

type SegmentsProps<T extends string> = {
  label: string
  value: T
  options: readonly SegmentOption<T>[]
  onChange: (value: T) => void
}

/** A filter with a few options. Their counts are not part of the accessible names. */
export function Segments<T extends string>({ label, value, options, onChange }: SegmentsProps<T>) {
  return (
    <div className="segwrap">
      <fieldset className="seg">
        <legend className="sr">{label}</legend>
        {options.map(option => (
          <button
            key={option.value}
            type="button"
            aria-pressed={option.value === value}
            onClick={() => onChange(option.value)}
          >
            {option.mark && <Mark state={option.mark} />}
            {option.label}
            {option.count !== undefined && (
              <span className="c" aria-hidden="true">
                {formatCount(option.count)}
              </span>
            )}
          </button>
        ))}
      </fieldset>
    </div>
  )
}
