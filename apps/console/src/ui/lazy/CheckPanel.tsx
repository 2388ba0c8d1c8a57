import { type ReactNode, useId } from 'react'
import { describedBy, FieldError } from '../Field.tsx'
import styles from './CheckPanel.module.css'

type CheckPanelProps = {
  label: string
  name: string
  checked: boolean
  onChange: (checked: boolean) => void
  onBlur?: () => void
  error?: string | undefined
  /** The consequence of the choice. */
  children: ReactNode
}

/** A checkbox in a panel with the consequence of the choice. The whole panel is the click target. */
export function CheckPanel({ label, checked, onChange, error, children, ...rest }: CheckPanelProps) {
  const id = useId()
  return (
    <div className="field">
      <label className={`check ${styles.panel}`}>
        <input
          {...rest}
          {...describedBy(id, children, error)}
          aria-labelledby={`${id}-label`}
          id={id}
          type="checkbox"
          checked={checked}
          onChange={event => onChange(event.target.checked)}
        />
        <span>
          <span id={`${id}-label`}>
            <b>{label}</b> <small>(optional)</small>
          </span>
          <span className="help" id={`${id}-help`}>
            {children}
          </span>
        </span>
      </label>
      <FieldError id={id} error={error} />
    </div>
  )
}
