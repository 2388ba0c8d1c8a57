import { focusHeading } from '../lib/focus-heading.ts'
import { Button } from './Button.tsx'

/** Stands where rows would when a filter leaves none, with the way back. */
export function NoMatch({ what, onClear }: { what: string; onClear: () => void }) {
  return (
    <span className="row">
      No {what} match this filter.
      <Button
        variant="ghost"
        size="sm"
        onClick={() => {
          // The button goes with the filter.
          focusHeading()
          onClear()
        }}
      >
        Clear
      </Button>
    </span>
  )
}
