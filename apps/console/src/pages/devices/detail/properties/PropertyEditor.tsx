import { stringify } from '@muster/actions/exact-json'
import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { invoke } from '../../../../api/client.ts'
import { useActionState } from '../../../../api/queries.ts'
import { formatBytes } from '../../../../lib/app/format.ts'
import { Alert } from '../../../../ui/Alert.tsx'
import { Time } from '../../../../ui/app/Time.tsx'
import { toast } from '../../../../ui/app/toast.ts'
import { Button } from '../../../../ui/Button.tsx'
import { messageOf } from '../../../../ui/ErrorText.tsx'
import { FieldError } from '../../../../ui/Field.tsx'
import { nameOf } from '../../shared/actor-name.ts'
import { SYSTEM_INFO_NAMES } from '../property-names.ts'
import { ShortValue } from '../timeline/ShortValue.tsx'
import type { Properties } from '../well-known.ts'
import { kindOfJson, parseTyped } from './json-text.ts'
import { ProtectedBox } from './ProtectedBox.tsx'
import styles from './properties.module.css'
import { useSetProperty } from './use-set-property.ts'

type Property = Properties[string]
type PropertyEditorProps = { deviceId: string; property: Property; onClose: () => void }

/** Minimum and maximum number of lines of the text field. */
const LINES = { min: 1, max: 16 }

/** Form in the place of a property's row that sets its value and whether it is protected. Loads a large value first. */
export function PropertyEditor({ deviceId, property, onClose }: PropertyEditorProps) {
  const { name, isCut = false, valueBytes = 0 } = property
  const whole = useActionState('devices_GetProperty', { deviceId, name }, { enabled: isCut })
  if (!isCut) return <EditorForm deviceId={deviceId} property={property} onClose={onClose} />
  if (whole.data?.result === 'Found')
    return <EditorForm deviceId={deviceId} property={{ ...property, ...whole.data }} onClose={onClose} />
  return (
    <p className="muted row">
      <span className="grow">
        {whole.error ? messageOf(whole.error) : `Loading all ${formatBytes(valueBytes)} of ${name}…`}
      </span>
      <Button size="sm" variant="ghost" onClick={onClose}>
        Cancel
      </Button>
    </p>
  )
}

/** State of the property on the hub, if it has changed since the form was opened. */
type Conflict = { value: unknown; version: number; isRemoved: boolean }

function EditorForm({ deviceId, property, onClose }: PropertyEditorProps) {
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  // The property as it was when the form was opened: later changes must not replace what is being typed.
  const [initial] = useState(property)
  const { name, value, protected: wasProtected, version, lastUpdated, changedBy } = initial
  const [text, setText] = useState(() => textOf(value))
  const [isProtected, setProtected] = useState(wasProtected)
  const [wasSubmitted, setSubmitted] = useState(false)
  const [failure, setFailure] = useState<string>()
  const [conflict, setConflict] = useState<Conflict>()
  const set = useSetProperty()

  useEffect(() => {
    field.current?.focus()
    field.current?.select()
  }, [])

  const parsed = parseTyped(text)
  const typedError = wasSubmitted && 'error' in parsed ? parsed.error : undefined
  const error = typedError ?? failure

  async function save(expectedVersion: number | undefined) {
    setSubmitted(true)
    setFailure(undefined)
    if ('error' in parsed) return
    try {
      const output = await set.mutateAsync({
        deviceId,
        name,
        value: parsed.value,
        ...(isProtected !== wasProtected && { protected: isProtected }),
        ...(expectedVersion !== undefined && { expectedVersion }),
      })
      if (output.result === 'Set') {
        toast(`${name} was set.`)
        return onClose()
      }
      const now = await invoke('devices_GetProperty', { deviceId, name })
      setConflict(
        now.result === 'Found'
          ? { value: now.value, version: now.version, isRemoved: false }
          : { value: undefined, version: 0, isRemoved: true },
      )
    } catch (cause) {
      setFailure(messageOf(cause))
    }
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    if (!set.isPending) void save(version)
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'Escape') onClose()
    else if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit(event)
  }
  const lines = Math.min(LINES.max, Math.max(LINES.min, text.split('\n').length))
  return (
    <form className={styles.editor} noValidate onSubmit={submit} onKeyDown={onKeyDown}>
      <div className={styles.key}>
        <bdi>{name}</bdi> <small aria-hidden>(required)</small>
      </div>
      <div className={styles.field}>
        <label className="visually-hidden" htmlFor={id}>
          Value of {name} as JSON (required)
        </label>
        <textarea
          ref={field}
          id={id}
          className="input mono"
          rows={lines}
          value={text}
          spellCheck={false}
          autoComplete="off"
          aria-required
          aria-describedby={`${id}-help ${id}-error`}
          aria-invalid={error !== undefined || undefined}
          onChange={event => {
            setText(event.target.value)
            setFailure(undefined)
            setConflict(undefined)
          }}
        />
        <FieldError id={id} error={error} />
        <p id={`${id}-help`} className={`help break-anywhere ${styles.help}`}>
          {'value' in parsed && `${kindOfJson(parsed.value)}. `}
          Was <ShortValue value={value} />
          {changedBy && (
            <>
              , set by <bdi>{nameOf(changedBy)}</bdi>
            </>
          )}{' '}
          <Time at={lastUpdated} />.{' '}
          {SYSTEM_INFO_NAMES.includes(name)
            ? 'The agent will overwrite this.'
            : 'The device reads the new value the next time it asks.'}
        </p>
        {conflict && (
          <Alert
            tone="warn"
            action={
              <Button
                size="sm"
                busy={set.isPending}
                onClick={() => void save(conflict.isRemoved ? undefined : conflict.version)}
              >
                Save Anyway
              </Button>
            }
          >
            {conflict.isRemoved ? (
              'The property was removed while you were typing.'
            ) : (
              <>
                The value became <ShortValue value={conflict.value} /> while you were typing.
              </>
            )}{' '}
            {'value' in parsed && (
              <>
                Save <ShortValue value={parsed.value} /> anyway?
              </>
            )}
          </Alert>
        )}
      </div>
      <ProtectedBox checked={isProtected} onChange={setProtected} />
      <div className={`row ${styles.buttons}`}>
        <Button size="sm" variant="ghost" onClick={onClose}>
          Cancel
        </Button>
        <Button
          size="sm"
          type="submit"
          disabled={typedError !== undefined}
          busy={set.isPending && !conflict}
          busyLabel="Saving…"
        >
          Save Value
        </Button>
      </div>
    </form>
  )
}

/** Text of a value for the field: short values on one line, others indented. */
function textOf(value: unknown): string {
  const line = stringify(value)
  if (line.length <= ONE_LINE_CHARS || typeof value !== 'object') return line
  return JSON.stringify(value, null, 2) ?? line
}

const ONE_LINE_CHARS = 80
