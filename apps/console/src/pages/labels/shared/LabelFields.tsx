import { MAX_LABELS } from '@muster/predicates'
import { Plus, X } from 'lucide-react'
import { useId, useRef } from 'react'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Button } from '../../../ui/Button.tsx'
import { FieldError } from '../../../ui/Field.tsx'
import { ComboBox } from '../../../ui/lazy/ComboBox.tsx'
import styles from './LabelFields.module.css'
import type { LabelDraft } from './label-drafts.ts'
import { useKeyOptions, useValueOptions } from './label-options.ts'

type LabelFieldsProps = {
  projectId: string
  /** Name of the group of fields. */
  label: string
  drafts: readonly LabelDraft[]
  onChange: (drafts: LabelDraft[]) => void
  help?: string
  error?: string | undefined
  /** Whether a label is required, so that the only row cannot be removed. */
  required?: boolean
  /** Asks for keys only. */
  keysOnly?: boolean
}

/** Fields for labels, a row each, with keys and values that devices of the project have. */
export function LabelFields({
  projectId,
  label,
  drafts,
  onChange,
  help,
  error,
  required = false,
  keysOnly = false,
}: LabelFieldsProps) {
  const id = useId()
  const group = useRef<HTMLFieldSetElement>(null)
  const focusLast = () =>
    setTimeout(() =>
      [...(group.current?.querySelectorAll<HTMLElement>('[data-part=key]') ?? [])].at(-1)?.focus(),
    )
  return (
    <fieldset ref={group} className={`field ${styles.group}`} aria-describedby={help && `${id}-help`}>
      <legend className="label">
        {label} <small>{required ? '(required)' : '(optional)'}</small>
      </legend>
      {drafts.map((draft, index) => (
        <Row
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has no identity but its position
          key={index}
          projectId={projectId}
          draft={draft}
          place={index + 1}
          taken={drafts.map(({ key }) => key)}
          keysOnly={keysOnly}
          isInvalid={error !== undefined}
          onChange={next => onChange(drafts.with(index, next))}
          onRemove={
            required && drafts.length === 1
              ? undefined
              : () => {
                  onChange(drafts.toSpliced(index, 1))
                  group.current?.querySelector<HTMLElement>('[data-add]')?.focus()
                }
          }
        />
      ))}
      <div>
        <Button
          size="sm"
          icon={Plus}
          data-add
          disabled={drafts.length >= MAX_LABELS}
          onClick={() => {
            onChange([...drafts, { key: '', value: '' }])
            focusLast()
          }}
        >
          {drafts.length === 0 ? 'Add a label' : 'Another label'}
        </Button>
      </div>
      {help && (
        <p className="help" id={`${id}-help`}>
          {help}
        </p>
      )}
      <FieldError id={id} error={error} />
    </fieldset>
  )
}

type RowProps = {
  projectId: string
  draft: LabelDraft
  place: number
  /** Keys of all rows. */
  taken: readonly string[]
  keysOnly: boolean
  isInvalid: boolean
  onChange: (draft: LabelDraft) => void
  onRemove: (() => void) | undefined
}

function Row({ projectId, draft, place, taken, keysOnly, isInvalid, onChange, onRemove }: RowProps) {
  const row = useRef<HTMLDivElement>(null)
  const { key, value } = draft
  const keys = useKeyOptions(projectId, key).filter(one => one.value === key || !taken.includes(one.value))
  const values = useValueOptions(projectId, keysOnly ? '' : key, value)
  const invalid = isInvalid && { 'aria-invalid': true as const }
  return (
    <div ref={row} className={styles.row}>
      <ComboBox
        {...invalid}
        opensOnFocus
        label="Keys of labels"
        aria-label={`Key of label ${place}`}
        placeholder="key"
        data-part="key"
        text={key}
        onType={text => onChange({ key: text, value })}
        options={keys}
        onChoose={option => {
          onChange({ key: option.value, value })
          row.current?.querySelector<HTMLElement>('[data-part=value]')?.focus()
        }}
        onEnter={() => undefined}
      />
      {!keysOnly && (
        <ComboBox
          {...invalid}
          opensOnFocus
          label={`Values of ${key || 'the label'}`}
          aria-label={`Value of label ${place}`}
          placeholder="value"
          data-part="value"
          text={value}
          onType={text => onChange({ key, value: text })}
          options={values}
          onChoose={option => onChange({ key, value: option.value })}
          onEnter={() => undefined}
        />
      )}
      {onRemove && <IconButton icon={X} label={`Remove label ${place}`} onClick={onRemove} />}
    </div>
  )
}
