import { useId } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { FieldError } from '../../../ui/Field.tsx'
import { ComboBox } from '../../../ui/lazy/ComboBox.tsx'
import { useKeyOptions } from '../../labels/shared/label-options.ts'
import { type ColumnUse, KEY_KINDS, type KeyKind, type Uses } from './column-uses.ts'
import type { Source } from './FileStep.tsx'
import styles from './ImportPage.module.css'

type ColumnsStepProps = {
  projectId: string
  source: Source
  uses: Uses
  onUses: (uses: Uses) => void
  emptyRemoves: boolean
  onEmptyRemoves: (emptyRemoves: boolean) => void
  problem: string | undefined
}

const USES: readonly { value: ColumnUse['kind']; label: string }[] = [
  { value: 'key', label: 'Names the device' },
  { value: 'name', label: 'New name' },
  { value: 'label', label: 'Label' },
  { value: 'none', label: 'Not imported' },
]
/** Rows whose cells are shown beside the header of a column. */
const SAMPLES = 3

/** What each column of the file is: the key that names the device, its new name, a label, or nothing. */
export function ColumnsStep({
  projectId,
  source: { table },
  uses,
  onUses,
  emptyRemoves,
  onEmptyRemoves,
  problem,
}: ColumnsStepProps) {
  const id = useId()
  const { by, property, columns } = uses

  function change(at: number, next: ColumnUse) {
    const others = next.kind === 'key' ? columns.map(one => (one.kind === 'key' ? NONE : one)) : columns
    onUses({ ...uses, columns: others.with(at, next) })
  }
  return (
    <section className="sheet" aria-labelledby={`${id}-title`}>
      <h2 className={styles.title} id={`${id}-title`}>
        Columns
      </h2>
      <ul className={styles.columns}>
        {table.headers.map((header, at) => {
          const column = columns[at]!
          const name = header.trim() || `Column ${at + 1}`
          const cells = table.lines.slice(0, SAMPLES).map(({ cells: row }) => row[at]?.trim() || '–')
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same header
            <li key={at}>
              <span className={styles.header}>
                <b>{name}</b>
                <small className="mono">{cells.join(' · ')}</small>
              </span>
              <select
                className="input"
                aria-label={`Use of ${name}`}
                value={column.kind}
                onChange={event => change(at, newUse(event.target.value as ColumnUse['kind'], header))}
              >
                {USES.map(({ value, label }) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
              {column.kind === 'label' && (
                <LabelKey
                  projectId={projectId}
                  name={name}
                  value={column.key}
                  onChange={key => change(at, { kind: 'label', key })}
                />
              )}
              {column.kind === 'key' && (
                <span className={styles.key}>
                  <select
                    className="input"
                    aria-label={`What ${name} is`}
                    value={by}
                    onChange={event => onUses({ ...uses, by: event.target.value as KeyKind })}
                  >
                    {KEY_KINDS.map(({ value, label }) => (
                      <option key={value} value={value}>
                        {label}
                      </option>
                    ))}
                  </select>
                  {by === 'property' && (
                    <Property
                      projectId={projectId}
                      value={property}
                      onChange={path => onUses({ ...uses, property: path })}
                    />
                  )}
                </span>
              )}
            </li>
          )
        })}
      </ul>
      <div className={styles.body}>
        <Checkbox
          label="An empty cell removes the label or the name"
          checked={emptyRemoves}
          onChange={onEmptyRemoves}
        />
        <FieldError id={id} error={problem} />
      </div>
    </section>
  )
}

const NONE: ColumnUse = { kind: 'none' }

/** A new use of a column. A label gets the header as its key, as far as it can be one. */
function newUse(kind: ColumnUse['kind'], header: string): ColumnUse {
  if (kind !== 'label') return { kind }
  return {
    kind,
    key: header
      .trim()
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/g, '-')
      .slice(0, 63),
  }
}

type LabelKeyProps = { projectId: string; name: string; value: string; onChange: (key: string) => void }

function LabelKey({ projectId, name, value, onChange }: LabelKeyProps) {
  const options = useKeyOptions(projectId, value)
  return (
    <ComboBox
      opensOnFocus
      label="Keys of labels"
      aria-label={`Key of the label of ${name}`}
      placeholder="key"
      text={value}
      onType={onChange}
      options={options}
      onChoose={option => onChange(option.value)}
      onEnter={() => undefined}
    />
  )
}

type PropertyProps = { projectId: string; value: string; onChange: (path: string) => void }

function Property({ projectId, value, onChange }: PropertyProps) {
  const text = useDebounced(value.trim())
  const { data } = useActionState(
    'projects_QueryPropertyNames',
    { projectId, namesOnly: true, ...(text && { text }) },
    { keepPrevious: true },
  )
  return (
    <ComboBox
      opensOnFocus
      label="Properties"
      aria-label="Name of the property"
      placeholder="property"
      text={value}
      onType={onChange}
      options={(data?.names ?? []).map(({ path }) => ({ value: path, label: path }))}
      onChoose={option => onChange(option.value)}
      onEnter={() => undefined}
    />
  )
}
