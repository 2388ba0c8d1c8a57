import { Plus, X } from 'lucide-react'
import { useId, useRef } from 'react'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Button } from '../../../ui/Button.tsx'
import { FieldError } from '../../../ui/Field.tsx'
import { PasswordField } from '../../../ui/PasswordField.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import styles from './HeaderRows.module.css'

/** A header of the requests of an export. A blank value stands for the stored one. */
export type Header = { name: string; value: string }

type HeaderRowsProps = {
  headers: readonly Header[]
  /** Whether the hub has a value for a header of this name, and keeps it. */
  isStored: (name: string) => boolean
  /** Whether no further header can be added. */
  isFull: boolean
  error: string | undefined
  onChange: (headers: Header[]) => void
}

/** Rows with the name and the value of each header. Values are secrets. */
export function HeaderRows({ headers, isStored, isFull, error, onChange }: HeaderRowsProps) {
  const id = useId()
  const group = useRef<HTMLFieldSetElement>(null)
  const change = (index: number, part: Partial<Header>) =>
    onChange(headers.with(index, { ...headers[index]!, ...part }))
  return (
    <fieldset
      ref={group}
      className={styles.headers}
      aria-describedby={error === undefined ? undefined : `${id}-error`}
    >
      <legend className="label">Headers</legend>
      {headers.map(({ name, value }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id, and their inputs are controlled
        <div key={index} className={styles.header}>
          <TextField
            label={`Name of header ${index + 1}`}
            required
            mono
            spellCheck={false}
            autoCapitalize="off"
            placeholder="Authorization"
            name={`header-${index}`}
            value={name}
            onChange={changed => change(index, { name: changed })}
          />
          <PasswordField
            label={`Value of header ${index + 1}`}
            name={`header-value-${index}`}
            autoComplete="off"
            required={!isStored(name)}
            help={isStored(name) ? 'Blank: the stored value stays.' : undefined}
            value={value}
            onChange={changed => change(index, { value: changed })}
          />
          <IconButton
            label={`Remove header ${index + 1}`}
            icon={X}
            onClick={() => {
              onChange(headers.toSpliced(index, 1))
              group.current?.querySelector<HTMLElement>('[data-add]')?.focus()
            }}
          />
        </div>
      ))}
      <FieldError id={id} error={error} />
      <div>
        <Button
          size="sm"
          icon={Plus}
          data-add
          disabled={isFull}
          onClick={() => onChange([...headers, { name: '', value: '' }])}
        >
          Add a header
        </Button>
      </div>
    </fieldset>
  )
}
