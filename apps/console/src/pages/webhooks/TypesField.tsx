import { MAX_EVENT_TYPES } from '@muster/actions/client'
import { X } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { describedBy, Field } from '../../ui/Field.tsx'
import { ComboBox, type ComboOption } from '../../ui/lazy/ComboBox.tsx'
import { MESSAGE_TYPES } from './message-types.ts'
import styles from './TypesField.module.css'

/** Types and areas of types that a person can choose. */
const OPTIONS: readonly ComboOption[] = [
  ...[...new Set(MESSAGE_TYPES.map(type => type.replace(/\.\w+$/, '.*')))].map(area => ({
    value: area,
    label: area,
    detail: 'all of this area',
  })),
  ...MESSAGE_TYPES.map(type => ({ value: type, label: type })),
]
/** A type of messages, or all types of an area. Types of later releases are no options, and can be typed. */
const TYPE = /^[a-z]+\.([A-Za-z0-9]+|\*)$/

type TypesFieldProps = {
  types: readonly string[]
  onChange: (types: string[]) => void
  error: string | undefined
}

/** Field of a form for types of messages. Chosen types stand above a box that offers the others; without any, all messages are sent. */
export function TypesField({ types, onChange, error }: TypesFieldProps) {
  const id = useId()
  const group = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const part = text.trim()
  const matching = OPTIONS.filter(
    ({ value }) => !types.includes(value) && value.toLowerCase().includes(part.toLowerCase()),
  )
  const help = 'Without any, all messages are sent. Enter adds a type.'
  function add(type: string) {
    setText('')
    if (!types.includes(type)) onChange([...types, type])
  }
  return (
    <div ref={group}>
      <Field id={id} label="Types of messages" help={help} error={error}>
        {types.length > 0 && (
          <ul className={styles.types} aria-label="Chosen types">
            {types.map(type => (
              <li key={type}>
                <span className="mono">{type}</span>
                <IconButton
                  icon={X}
                  size="sm"
                  label={`Remove ${type}`}
                  onClick={() => {
                    onChange(types.filter(one => one !== type))
                    group.current?.querySelector('input')?.focus()
                  }}
                />
              </li>
            ))}
          </ul>
        )}
        <ComboBox
          {...describedBy(id, help, error)}
          id={id}
          label="Types of messages"
          placeholder={types.length === 0 ? 'All messages' : 'Another type'}
          text={text}
          onType={setText}
          disabled={types.length >= MAX_EVENT_TYPES}
          options={matching}
          note={
            matching.length > 0
              ? undefined
              : TYPE.test(part)
                ? 'No message has this type today. Enter adds it.'
                : 'No type matches, such as devices.Created or devices.*'
          }
          onChoose={({ value }) => add(value)}
          onEnter={isOpen => {
            if (!isOpen || part === '') return undefined
            const exact = OPTIONS.find(({ value }) => value.toLowerCase() === part.toLowerCase())
            return exact ?? matching[0] ?? (TYPE.test(part) ? { value: part, label: part } : undefined)
          }}
        />
      </Field>
    </div>
  )
}
