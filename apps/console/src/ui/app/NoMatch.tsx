import { Package } from 'lucide-react'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Button } from '../Button.tsx'
import { EmptyState } from './EmptyState.tsx'

type NoMatchProps = {
  /** Plural of the things, in lower case, for example "users". */
  what: string
  /** Removes the filter. */
  onClear: () => void
}

/** Replaces the rows when none matches the filter, with a button that clears it. */
export function NoMatch({ what, onClear }: NoMatchProps) {
  return (
    <span className="row">
      No {what} match this filter.
      <Button variant="ghost" size="sm" onClick={() => clear(onClear)}>
        Clear
      </Button>
    </span>
  )
}

/** Replaces the cards when none matches the filter. */
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
  // The button disappears with the filter, so the focus moves first.
  focusHeading()
  onClear()
}
