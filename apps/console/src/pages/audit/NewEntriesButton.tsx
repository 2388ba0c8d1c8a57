import { ArrowUp } from 'lucide-react'
import { formatCount } from '../../lib/app/format.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Button } from '../../ui/Button.tsx'
import type { NewEntries } from './use-log.ts'

type NewEntriesButtonProps = {
  /** `undefined` if there is no new entry. */
  waiting: NewEntries | undefined
  onShow: () => void
}

/** Says how many entries have come since the rows were loaded, and shows them when pressed. Covers the list without moving its rows. */
export function NewEntriesButton({ waiting, onShow }: NewEntriesButtonProps) {
  function show() {
    onShow()
    window.scrollTo({ top: 0 })
    focusHeading()
  }
  return (
    <div className="lognew" role="status">
      {waiting && (
        <Button icon={ArrowUp} onClick={show}>
          {wordsOf(waiting)}
        </Button>
      )}
    </div>
  )
}

function wordsOf({ count, isMore }: NewEntries): string {
  const words = count === 1 && !isMore ? 'new entry' : 'new entries'
  return `${formatCount(count)}${isMore ? ' or more' : ''} ${words}, show`
}
