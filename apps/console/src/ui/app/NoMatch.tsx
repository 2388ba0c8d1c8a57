import { Package } from 'lucide-react'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Button } from '../Button.tsx'
import { EmptyState } from './EmptyState.tsx'

type NoMatchProps = {
  /** Plural noun for the listed entities, in lower case, for example "users". */
  what: string
  /** A sentence that is more exact than "No … match this filter." */
  none?: string | undefined
  /** Removes the filter. */
  onClear: () => void
}

/** Text in place of the rows when no row matches the filter, with a button that clears the filter. */
export function NoMatch({ what, none = `No ${what} match this filter.`, onClear }: NoMatchProps) {
  return (
    <span className="row">
      {none}
      <Button variant="ghost" size="sm" onClick={() => clear(onClear)}>
        Clear
      </Button>
    </span>
  )
}

/** Replaces the cards when no card matches the filter. */
export function NoCardMatches({ what, onClear }: NoMatchProps) {
  return (
    <EmptyState
      icon={Package}
      title={`No ${what} match this filter.`}
      action={<Button onClick={() => clear(onClear)}>Clear</Button>}
    />
  )
}

function clear(onClear: () => void) {
  // The button disappears with the filter, so the focus moves to the heading first.
  focusHeading()
  onClear()
}
