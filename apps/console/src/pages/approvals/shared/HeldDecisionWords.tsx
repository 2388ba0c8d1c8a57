import { useSecsLeft } from '../../../lib/app/undo-time.ts'
import { Button } from '../../../ui/Button.tsx'
import { type HeldDecision, undoDecision } from './held-decision.ts'

type HeldDecisionWordsProps = {
  decision: HeldDecision
  size?: 'sm'
  /** Moves the focus, because Undo disappears. */
  onUndo: () => void
}

/** "Accepting in 9 s." with Undo, then "Accepting…" until the answer. */
export function HeldDecisionWords({ decision, size, onUndo }: HeldDecisionWordsProps) {
  const secs = useSecsLeft(decision)
  const doing = decision.status === 'Active' ? 'Accepting' : 'Rejecting'
  return (
    <span className="row">
      <span className="tabular">{decision.state === 'waiting' ? `${doing} in ${secs} s.` : `${doing}…`}</span>
      {decision.state === 'waiting' && (
        <Button
          {...(size && { size })}
          onClick={() => {
            onUndo()
            undoDecision()
          }}
        >
          Undo
        </Button>
      )}
    </span>
  )
}
