import { Package } from 'lucide-react'
import { focusHeading } from '../lib/focus-heading.ts'
import { Button } from './Button.tsx'
import { EmptyState } from './EmptyState.tsx'

type NoMatchProps = {
  /** Plural of the things, in lower case, for example "users". */
  what: string
  /** Takes the filter away. */
  onClear: () => void
}

/** Stands where rows would when a filter leaves none, with the way back. */
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

/** Stands where cards would. */
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
  // The button goes with the filter.
  focusHeading()
  onClear()
}
