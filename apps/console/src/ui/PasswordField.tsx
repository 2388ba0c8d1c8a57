import { Eye, EyeOff } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import field from './Field.module.css'
import { describedBy, Field, IGNORED_BY_PASSWORD_MANAGERS } from './Field.tsx'
import styles from './PasswordField.module.css'

type PasswordFieldProps = {
  label: string
  name: string
  value: string
  onChange: (value: string) => void
  onBlur?: () => void
  /** `off` is for secrets other than the user's own password, so that password managers neither fill in nor store them. */
  autoComplete: 'current-password' | 'new-password' | 'off'
  size?: 'md' | 'lg'
  required?: boolean
  help?: ReactNode
  error?: string | undefined
}

/** A password with a button that shows what was typed. */
export function PasswordField({
  label,
  size = 'md',
  required,
  help,
  error,
  onChange,
  ...rest
}: PasswordFieldProps) {
  const id = useId()
  const [isShown, setShown] = useState(false)
  const Icon = isShown ? EyeOff : Eye
  return (
    <Field id={id} label={label} required={required} help={help} error={error}>
      <div className={styles.password}>
        <input
          {...(rest.autoComplete === 'off' && IGNORED_BY_PASSWORD_MANAGERS)}
          {...rest}
          {...describedBy(id, help, error)}
          id={id}
          type={isShown ? 'text' : 'password'}
          className={size === 'lg' ? `input ${field.large}` : 'input'}
          aria-required={required}
          spellCheck={false}
          autoCapitalize="off"
          onChange={event => onChange(event.target.value)}
        />
        <button
          type="button"
          className="copy"
          aria-label={`Show ${label.toLowerCase()}`}
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
        >
          <Icon className="icon" aria-hidden />
        </button>
      </div>
    </Field>
  )
}
