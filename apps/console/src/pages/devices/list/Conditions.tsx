import { X } from 'lucide-react'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { Button } from '../../../ui/Button.tsx'
import { type Condition, conditionText } from './conditions.ts'

type ConditionsProps = { conditions: readonly Condition[]; onChange: (conditions: Condition[]) => void }

/** The property conditions in the filter of the device list. A click on a condition removes it. */
export function Conditions({ conditions, onChange }: ConditionsProps) {
  if (conditions.length === 0) return null
  return (
    <ul className="tools" aria-label="Conditions" style={{ flexWrap: 'wrap' }}>
      {conditions.map((condition, index) => {
        const text = conditionText(condition)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list may hold the same condition twice
          <li key={`${index} ${text}`} style={{ minWidth: 0 }}>
            <Button
              size="sm"
              icon={X}
              aria-label={`Remove condition: ${text}`}
              onClick={() => {
                focusHeading()
                onChange(conditions.toSpliced(index, 1))
              }}
            >
              <span className="mono trunc" style={{ maxWidth: '40ch' }}>
                {text}
              </span>
            </Button>
          </li>
        )
      })}
    </ul>
  )
}
