import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import styles from './Field.module.css'

export type FieldProps = {
  /** Id of the control. The ids of help and error text derive from it. */
  id: string
  label: string
  required?: boolean | undefined
  help?: ReactNode
  error?: string | undefined
  children: ReactNode
}

/** A label with "(required)" or "(optional)", a control, help and an error below it. */
export function Field({ id, label, required = false, help, error, children }: FieldProps) {
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label} <small>{required ? '(required)' : '(optional)'}</small>
      </label>
      {children}
      {help && (
        <p className="help" id={`${id}-help`}>
          {help}
        </p>
      )}
      <FieldError id={id} error={error} />
    </div>
  )
}

/** The error text of a field, announced when it appears. */
export function FieldError({ id, error }: { id: string; error: string | undefined }) {
  if (!error) return null
  return (
    <p className={styles.error} id={`${id}-error`} role="alert">
      <CircleAlert className="icon" aria-hidden />
      <span>{error}</span>
    </p>
  )
}

/** The ARIA attributes that tie a control to its help and its error. */
export function describedBy(id: string, help: ReactNode, error: string | undefined) {
  const ids = [help && `${id}-help`, error && `${id}-error`].filter(Boolean).join(' ')
  return {
    ...(ids && { 'aria-describedby': ids }),
    ...(error && { 'aria-invalid': true as const }),
  }
}

/** Attributes that make password managers ignore an input. */
export const IGNORED_BY_PASSWORD_MANAGERS = {
  'data-1p-ignore': true,
  'data-lpignore': 'true',
  'data-bwignore': true,
}
