import { type ComponentProps, type ReactNode, useId } from 'react'
import field from './Field.module.css'
import { describedBy, Field, IGNORED_BY_PASSWORD_MANAGERS } from './Field.tsx'

export type TextFieldProps = Omit<
  ComponentProps<'input'>,
  'className' | 'onChange' | 'value' | 'id' | 'size' | 'type' | 'children'
> & {
  label: string
  value: string
  onChange: (value: string) => void
  type?: 'text' | 'email' | 'datetime-local'
  size?: 'md' | 'lg'
  help?: ReactNode
  error?: string | undefined
  /** Uses the monospace font, for values that machines read, for example property names. */
  mono?: boolean
}

/** A single-line text input with its label. */
export function TextField({
  label,
  value,
  onChange,
  type = 'text',
  size = 'md',
  help,
  error,
  required,
  mono = false,
  ...rest
}: TextFieldProps) {
  const id = useId()
  return (
    <Field id={id} label={label} required={required} help={help} error={error}>
      <input
        autoComplete="off"
        {...(rest.autoComplete === undefined && IGNORED_BY_PASSWORD_MANAGERS)}
        {...rest}
        {...describedBy(id, help, error)}
        id={id}
        type={type}
        className={(size === 'lg' ? `input ${field.large}` : 'input') + (mono ? ' mono' : '')}
        value={value}
        aria-required={required}
        onChange={event => onChange(event.target.value)}
      />
    </Field>
  )
}
