import { MAX_LABELS } from '@muster/predicates'
import { Plus, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { useCommand } from '../../../api/queries.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { toastError, toastUndo } from '../../../ui/app/toast.ts'
import styles from './DeviceLabels.module.css'
import { LabelEditor } from './LabelEditor.tsx'

type DeviceLabelsProps = {
  projectId: string
  deviceId: string
  labels: Readonly<Record<string, string>>
}

/** Key of the label that is edited, or the empty text for a new one. */
type Edited = string | undefined

/** Labels of a device below its name. A click on a label edits its value in place. */
export function DeviceLabels({ projectId, deviceId, labels }: DeviceLabelsProps) {
  const [edited, setEdited] = useState<Edited>()
  const group = useRef<HTMLDivElement>(null)
  const command = useCommand('devices_SetLabels', {
    invalidates: ['devices_GetDetails', 'devices_QueryProperties', 'projects_QueryDevices'],
  })
  const sorted = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const isFull = sorted.length >= MAX_LABELS
  const add = () => !isFull && setEdited('')
  useShortcut('l', 'Add a label', add)

  /** Ends the editing, and brings the focus back to the button that began it. */
  function close() {
    const key = edited
    setEdited(undefined)
    setTimeout(() => {
      const buttons = group.current?.querySelectorAll<HTMLElement>('[data-label]') ?? []
      ;[...buttons].find(button => button.dataset.label === key)?.focus()
    })
  }
  async function remove(key: string, value: string) {
    try {
      await command.mutateAsync({ deviceId, remove: [key] })
    } catch (error) {
      toastError(`The label ${key} was not removed.`, error)
      return
    }
    group.current?.querySelector<HTMLElement>('[data-label=""]')?.focus()
    toastUndo(`Label ${key} removed.`, () => {
      command
        .mutateAsync({ deviceId, set: { [key]: value } })
        .catch((error: unknown) => toastError(`The label ${key} was not set again.`, error))
    })
  }
  const editor = {
    projectId,
    deviceId,
    labels,
    command,
    onClose: close,
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a field set would have a frame and a legend
    <div ref={group} role="group" aria-label="Labels" className={`wrap ${styles.labels}`}>
      {sorted.map(([key, value]) =>
        key === edited ? (
          <LabelEditor key={key} {...editor} edited={key} />
        ) : (
          <span key={key} className={styles.label}>
            <button
              type="button"
              className={styles.edit}
              data-label={key}
              aria-label={`Edit label ${key}, ${value}`}
              onClick={() => setEdited(key)}
            >
              <span className={styles.key}>{key}</span>
              <bdi className={styles.value} title={value}>
                {value}
              </bdi>
            </button>
            <button
              type="button"
              className={styles.remove}
              aria-label={`Remove label ${key}`}
              onClick={() => void remove(key, value)}
            >
              <X className="icon small-icon" aria-hidden />
            </button>
          </span>
        ),
      )}
      {edited === '' ? (
        <LabelEditor {...editor} />
      ) : (
        <button
          type="button"
          className={styles.add}
          data-label=""
          disabled={isFull}
          data-tip={isFull ? `${MAX_LABELS} labels are the most.` : undefined}
          onClick={add}
        >
          <Plus className="icon small-icon" aria-hidden />
          Label
        </button>
      )}
    </div>
  )
}
