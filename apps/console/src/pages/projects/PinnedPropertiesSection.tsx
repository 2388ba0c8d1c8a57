import { MAX_PINS } from '@muster/actions/client'
import { ArrowDown, ArrowUp, Pencil, Plus } from 'lucide-react'
import { useState } from 'react'
import { useActionState, useCommand } from '../../api/queries.ts'
import { counted } from '../../lib/app/format.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { PinForm, type ProjectPin } from './PinForm.tsx'
import styles from './PinnedPropertiesSection.module.css'

/** Value of `edited` while a new pin is added. Other values are indexes of pins. */
const NEW = -1

/** Properties that are pinned in a project for everyone. Each change is saved immediately. */
export function PinnedPropertiesSection({ projectId }: { projectId: string }) {
  const { data, error } = useActionState('projects_GetPins', { projectId })
  const pins = data?.projectProperties ?? []
  const known = useActionState('projects_QueryPropertyNames', { projectId, namesOnly: true, limit: 200 }).data
  const save = useCommand('projects_SetPinnedProperties', { invalidates: ['projects_GetPins'] })
  const [edited, setEdited] = useState<number>()
  /** The button that was pressed last: its direction and the name of its pin. */
  const [pressed, setPressed] = useState<string>()
  const counts = new Map(known?.names.map(({ path, deviceCount }) => [path, deviceCount]))

  async function set(properties: ProjectPin[], done: string) {
    await save.mutateAsync({ projectId, properties })
    setEdited(undefined)
    toast(done)
  }
  async function move(from: number, to: number) {
    if (save.isPending) return
    setPressed(`${to - from} ${pins[from]!.name}`)
    const properties = pins.toSpliced(from, 1).toSpliced(to, 0, pins[from]!)
    try {
      await set(properties, `${titleOf(pins[from]!)} moved.`)
    } catch (error) {
      toastError('Could not move the property', error)
    }
  }
  const form = (index: number) => (
    <PinForm
      pin={pins[index]}
      taken={pins.filter((_, other) => other !== index).map(({ name }) => name)}
      known={known?.names}
      onSave={pin =>
        set(index === NEW ? [...pins, pin] : pins.with(index, pin), `${titleOf(pin)} is pinned.`)
      }
      onRemove={
        index === NEW
          ? undefined
          : () => set(pins.toSpliced(index, 1), `${titleOf(pins[index]!)} is no longer pinned.`)
      }
      onClose={() => setEdited(undefined)}
    />
  )
  return (
    <Section
      title="Pinned properties"
      padded={false}
      aside={
        data && (
          <Button
            size="sm"
            icon={Plus}
            onClick={() =>
              pins.length >= MAX_PINS
                ? toast(`At most ${MAX_PINS} properties can be pinned.`)
                : setEdited(NEW)
            }
          >
            Pin a property
          </Button>
        )
      }
    >
      <p className={styles.note}>
        Shown first on each device page, for everyone in this project, below the properties that a person has
        pinned.
      </p>
      <ErrorAlert title="Could not load the pinned properties." error={data ? undefined : error} />
      <ul className={styles.pins}>
        {pins.map((pin, index) =>
          edited === index ? (
            <li key={pin.name} className={styles.edited}>
              {form(index)}
            </li>
          ) : (
            <li key={pin.name}>
              <b>
                <bdi>{titleOf(pin)}</bdi>
              </b>
              <span className="mono">{pin.label === undefined ? '' : pin.name}</span>
              <span className="tabular muted">
                {known && !known.tookTooLong && counted(counts.get(pin.name) ?? 0, 'device')}
              </span>
              <span className={styles.moves}>
                <IconButton
                  label={`Move ${pin.name} up`}
                  icon={ArrowUp}
                  size="sm"
                  disabled={index === 0}
                  busy={save.isPending && pressed === `-1 ${pin.name}`}
                  onClick={() => void move(index, index - 1)}
                />
                <IconButton
                  label={`Move ${pin.name} down`}
                  icon={ArrowDown}
                  size="sm"
                  disabled={index === pins.length - 1}
                  busy={save.isPending && pressed === `1 ${pin.name}`}
                  onClick={() => void move(index, index + 1)}
                />
                <IconButton
                  label={`Edit ${pin.name}`}
                  icon={Pencil}
                  size="sm"
                  onClick={() => setEdited(index)}
                />
              </span>
            </li>
          ),
        )}
        {edited === NEW && <li className={styles.edited}>{form(NEW)}</li>}
      </ul>
    </Section>
  )
}

function titleOf({ name, label }: ProjectPin): string {
  return label ?? name
}
