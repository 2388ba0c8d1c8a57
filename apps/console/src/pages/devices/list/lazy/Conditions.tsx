import { LABELS } from '@muster/predicates'
import { X } from 'lucide-react'
import { focusHeading } from '../../../../lib/focus-heading.ts'
import {
  type Condition,
  conditionText,
  isColumnName,
  OPERATORS,
  subjectText,
} from '../../shared/conditions.ts'
import styles from './Chip.module.css'

type ConditionsProps = {
  conditions: readonly Condition[]
  onChange: (conditions: Condition[]) => void
  onEdit: (index: number) => void
}

/** The conditions in the filter of the device list. A click changes a condition, its cross removes it. */
export function Conditions({ conditions, onChange, onEdit }: ConditionsProps) {
  return (
    <ul className={`wrap ${styles.chips}`} aria-label="Conditions">
      {conditions.map((condition, index) => {
        const text = conditionText(condition)
        const { label } = OPERATORS.find(({ value }) => value === condition.operator)!
        const subject = subjectText(condition.property)
        const value = text.slice(subject.length + label.length + 2)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list may hold the same condition twice
          <li key={`${index} ${text}`} data-condition={index}>
            <button
              type="button"
              className={`truncated ${styles.words}`}
              aria-haspopup="dialog"
              aria-label={`Change condition: ${text}`}
              onClick={() => onEdit(index)}
            >
              <span className={isColumnName(condition.property) ? undefined : 'mono'}>
                {subject.replace(`${LABELS}.`, 'label.')}
              </span>{' '}
              {label}
              {value && (
                <>
                  {' '}
                  <bdi className="mono">{value}</bdi>
                </>
              )}
            </button>
            <button
              type="button"
              className={styles.remove}
              aria-label={`Remove condition: ${text}`}
              onClick={() => {
                focusHeading()
                onChange(conditions.toSpliced(index, 1))
              }}
            >
              <X className="icon small-icon" aria-hidden />
            </button>
          </li>
        )
      })}
    </ul>
  )
}
