import { Clock3 } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { utcOffset } from '../../../../lib/app/local-time.ts'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { BetweenDialog } from './BetweenDialog.tsx'
import styles from './TimeTools.module.css'
import { RANGES, type Range, type RangeSearch, rangeOf, timesOf } from './time-range.ts'

type TimeToolsProps = {
  search: RangeSearch
  onChange: (search: { range: string; from: string; to: string; entry: string }) => void
  children?: ReactNode
}

/** A line of filters: presets of a time range, a dialog for two times, and further filters. */
export function TimeTools({ search, onChange, children }: TimeToolsProps) {
  const [isChoosing, setChoosing] = useState(false)
  const range = rangeOf(search)
  const choose = (next: { range?: string; from?: string; to?: string }) =>
    onChange({ range: '', from: '', to: '', entry: '', ...next })
  return (
    <div className="tools">
      <Segments<Range | 'between'>
        label="Time"
        value={range}
        options={RANGES}
        onChange={value => choose({ range: value })}
      />
      <Button icon={Clock3} aria-pressed={range === 'between'} onClick={() => setChoosing(true)}>
        {range === 'between' ? `Between ${wordsOf(search)}` : 'Between…'}
      </Button>
      {children}
      <span className="grow" />
      <span className={`muted ${styles.zone}`}>Times are local, {utcOffset(Date.now())}</span>
      {isChoosing && (
        <BetweenDialog
          from={search.from ?? ''}
          to={search.to ?? ''}
          onChange={(from, to) => choose({ from, to })}
          onClose={() => setChoosing(false)}
        />
      )}
    </div>
  )
}

/** The range, for the query. It is computed once for each choice, so that a render does not change the query. */
export function useTimes({ range, from, to }: RangeSearch) {
  return useMemo(() => timesOf({ range, from, to }, Date.now()), [range, from, to])
}

/** Both times of a range as "2026-11-22 18:00 and 2026-11-23 08:00". */
function wordsOf({ from, to }: RangeSearch): string {
  const text = (time: string | undefined) => time?.replace('T', ' ')
  return [text(from) ?? 'the beginning', text(to) ?? 'now'].join(' and ')
}
