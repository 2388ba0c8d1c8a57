import { ArrowUp } from 'lucide-react'
import type { NewEntries } from '../../api/lazy/growing-list.ts'
import { formatCount } from '../../lib/app/format.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Button } from '../Button.tsx'
import styles from './NewEntriesButton.module.css'

type NewEntriesButtonProps = {
  /** `undefined` if there is no new entry. */
  waiting: NewEntries | undefined
  /** Words after a count of one, and after any other count. */
  words?: readonly [one: string, others: string]
  onShow: () => void
}

/**
 * Button with the number of entries that are newer than the rows on screen. A click shows them. The button lies over the list, so it
 * does not move the rows.
 */
export function NewEntriesButton({ waiting, words = ['new', 'new'], onShow }: NewEntriesButtonProps) {
  function show() {
    onShow()
    window.scrollTo({ top: 0 })
    focusHeading()
  }
  return (
    <div className={styles.place} role="status">
      {waiting && (
        <Button icon={ArrowUp} onClick={show}>
          {countOf(waiting)} {waiting.count === 1 && !waiting.isMore ? words[0] : words[1]}, show
        </Button>
      )}
    </div>
  )
}

function countOf({ count, isMore }: NewEntries): string {
  return `${formatCount(count)}${isMore ? ' or more' : ''}`
}
