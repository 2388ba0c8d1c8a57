import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { isLabelKey, LABELS } from '@muster/predicates'
import { Check, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { relativeTime } from '../../../lib/app/relative-time.ts'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { messageOf } from '../../../ui/ErrorText.tsx'
import { ComboBox } from '../../../ui/lazy/ComboBox.tsx'
import { nameOf } from '../../devices/shared/actor-name.ts'
import styles from './DeviceLabels.module.css'
import { KEY_RULE, valueProblem } from './label-drafts.ts'
import { useKeyOptions, useValueOptions } from './label-options.ts'

type LabelEditorProps = {
  projectId: string
  deviceId: string
  labels: Readonly<Record<string, string>>
  /** Key of the label to change; undefined for a new one. */
  edited?: string
  command: {
    isPending: boolean
    mutateAsync: (input: ActionInput<'devices_SetLabels'>) => Promise<unknown>
  }
  onClose: () => void
}

/** Number of past values of the labels among which the change to the present value is looked for. */
const PAST_VALUES = 100

/** Edits a label in place: its key, if it is new, and its value. Enter saves, Escape leaves. */
export function LabelEditor({ projectId, deviceId, labels, edited, command, onClose }: LabelEditorProps) {
  const present = edited === undefined ? undefined : labels[edited]
  const [key, setKey] = useState(edited ?? '')
  const [value, setValue] = useState(present ?? '')
  const [problem, setProblem] = useState<string>()
  const box = useRef<HTMLSpanElement>(null)
  const keyOptions = useKeyOptions(projectId, key, edited === undefined).filter(one => !(one.value in labels))
  // All values are suggested until another one is typed.
  const valueOptions = useValueOptions(projectId, key, value === present ? '' : value)
  const presentWords = usePresentWords(deviceId, edited, present)
  useEffect(() => box.current?.querySelector('input')?.focus(), [])

  function type(change: (text: string) => void, text: string) {
    setProblem(undefined)
    change(text)
  }
  async function save(typed = value) {
    const [newKey, newValue] = [key.trim(), typed.trim()]
    const found = problemOf(newKey, newValue, edited === undefined && newKey in labels)
    if (found !== undefined) return setProblem(found)
    if (newValue === present) return onClose()
    try {
      await command.mutateAsync({ deviceId, set: { [newKey]: newValue } })
    } catch (error) {
      return setProblem(messageOf(error))
    }
    onClose()
  }
  const focusValue = () => box.current?.querySelector<HTMLElement>('input[data-part=value]')?.focus()
  return (
    <span ref={box} className={styles.editor}>
      {edited === undefined ? (
        <ComboBox
          isFilter
          opensOnFocus
          label="Keys of labels"
          aria-label="Key of the label"
          placeholder="key"
          text={key}
          onType={text => type(setKey, text)}
          options={keyOptions}
          onChoose={option => {
            setKey(option.value)
            focusValue()
          }}
          onEnter={() => {
            if (isLabelKey(key.trim())) focusValue()
            else setProblem(KEY_RULE)
            return undefined
          }}
          onEscape={onClose}
        />
      ) : (
        <span className={`mono ${styles.editedKey}`}>{edited}</span>
      )}
      <ComboBox
        isFilter
        opensOnFocus
        label={`Values of ${key || 'the label'}`}
        aria-label={edited === undefined ? 'Value of the label' : `Value of ${edited}`}
        placeholder="value"
        data-part="value"
        text={value}
        onType={text => type(setValue, text)}
        options={valueOptions}
        note={presentWords}
        onChoose={option => {
          setValue(option.value)
          void save(option.value)
        }}
        onEnter={() => {
          void save()
          return undefined
        }}
        onEscape={onClose}
      />
      <IconButton
        size="sm"
        icon={Check}
        label={edited === undefined ? 'Save label' : `Save ${edited}`}
        busy={command.isPending}
        onClick={() => void save()}
      />
      <IconButton size="sm" icon={X} label="Cancel" onClick={onClose} />
      {problem !== undefined && (
        <span role="alert" className={styles.problem}>
          {problem}
        </span>
      )}
    </span>
  )
}

/** Error text of a typed label; undefined for a valid one. */
function problemOf(key: string, value: string, isTaken: boolean): string | undefined {
  if (!isLabelKey(key)) return KEY_RULE
  return isTaken ? `The device has the label ${key}. Edit it in its place.` : valueProblem(value)
}

type Changes = ActionOutput<'devices_QueryPropertyHistory'>['changes']

/** Present value of a label in words, with who set it and when: "Now broad, set by Ada 3 weeks ago." Undefined for a new label. */
function usePresentWords(
  deviceId: string,
  key: string | undefined,
  value: string | undefined,
): string | undefined {
  const nowMs = useNow()
  const input = { deviceId, name: LABELS, limit: PAST_VALUES }
  const { data } = useActionState('devices_QueryPropertyHistory', input, { enabled: key !== undefined })
  if (key === undefined || value === undefined) return undefined
  const change = data && beginningOf(data.changes, key, value)
  const by = change ? `, set by ${nameOf(change)} ${relativeTime(Date.parse(change.changedAt), nowMs)}` : ''
  return `Now ${value}${by}.`
}

/** The change since which the label has its present value; undefined if it is older than the changes, which are newest first. */
function beginningOf(changes: Changes, key: string, value: string): Changes[number] | undefined {
  const before = changes.findIndex(
    change => (change.value as Record<string, unknown> | undefined)?.[key] !== value,
  )
  // Without an older change with another value, the first version of the property is the beginning. It may be too old to be kept.
  return before === -1 ? changes.find(({ version }) => version === 1) : changes[before - 1]
}
