import { useId } from 'react'
import { describedBy, Field, IGNORED_BY_PASSWORD_MANAGERS } from '../Field.tsx'
import { ComboBox, type ComboOption } from './ComboBox.tsx'

type ComboFieldProps = {
  label: string
  required?: boolean
  error?: string | undefined
  placeholder: string
  /** Text in the box: the label of the chosen option, or the search text. */
  text: string
  onType: (text: string) => void
  /** Options that match the text, `undefined` while they load. */
  options: readonly ComboOption[] | undefined
  note?: string | undefined
  onChoose: (option: ComboOption) => void
}

/** A combobox of a form, with its label. */
export function ComboField({ label, required, error, text, options = [], ...box }: ComboFieldProps) {
  const id = useId()
  const part = text.trim().toLowerCase()
  // The option must contain the typed text, because the options may still be the answer to an earlier, shorter text.
  const isLike = ({ label: name, detail, reason }: ComboOption) =>
    !reason && `${name} ${detail}`.toLowerCase().includes(part)
  return (
    <Field id={id} label={label} required={required} error={error}>
      <ComboBox
        {...IGNORED_BY_PASSWORD_MANAGERS}
        {...describedBy(id, undefined, error)}
        {...box}
        id={id}
        label={label}
        aria-required={required}
        text={text}
        options={options}
        onEnter={isOpen => (isOpen && part ? options.find(isLike) : undefined)}
      />
    </Field>
  )
}
