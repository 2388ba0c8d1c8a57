import {
  type ActionOutput,
  isColumnPath,
  MAX_COLUMN_PATH_PARTS,
  MAX_FILTER_LENGTH,
  MAX_PROPERTY_COLUMNS,
} from '@muster/actions/client'
import { GripVertical, Search } from 'lucide-react'
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import { useActionState } from '../../../../api/queries.ts'
import { announce } from '../../../../lib/announce.ts'
import { counted, formatCount } from '../../../../lib/app/format.ts'
import { useDebounced } from '../../../../lib/app/use-debounced.ts'
import searchBox from '../../../../ui/app/SearchBox.module.css'
import { Button } from '../../../../ui/Button.tsx'
import { ErrorText } from '../../../../ui/ErrorText.tsx'
import { Popover } from '../../../../ui/lazy/Popover.tsx'
import { COLUMN_IDS, propertyColumn, propertyOf } from '../column-ids.ts'
import { type ColumnView, DEFAULT_VIEW } from '../column-view.ts'
import { columnOf } from '../columns.tsx'
import { Marked } from '../Marked.tsx'
import { propertyWords } from '../property-words.ts'
import styles from './ColumnChooser.module.css'
import { Note } from './Note.tsx'
import panel from './panel.module.css'

type ColumnChooserProps = {
  projectId: string
  view: ColumnView
  /** Paths of kept columns that are left out of `view`, because they are too long. */
  leftOut: readonly string[]
  onChange: (view: ColumnView) => void
  opener: () => HTMLElement | null
  onClose: () => void
}

/** Panel in which a person chooses the columns of the device list and their order. Each change is applied to the list immediately. */
export function ColumnChooser({ projectId, view, leftOut, onChange, opener, onClose }: ColumnChooserProps) {
  const [text, setText] = useState('')
  const asked = useDebounced(text.trim())
  const part = text.trim().toLowerCase()
  const hidden = COLUMN_IDS.filter(id => id !== 'name' && !view.columns.includes(id))
  const listed = [...view.columns, ...hidden].filter(id => columnOf(id).label.toLowerCase().includes(part))
  const isFull = view.columns.filter(id => propertyOf(id) !== undefined).length >= MAX_PROPERTY_COLUMNS

  function setShown(id: string, isShown: boolean) {
    if (!isShown) return onChange({ ...view, columns: view.columns.filter(one => one !== id) })
    onChange({ ...view, columns: [...view.columns, id] })
  }
  function move(id: string, to: number) {
    const from = view.columns.indexOf(id)
    const place = Math.min(Math.max(to, 0), view.columns.length - 1)
    if (from === -1 || from === place) return
    onChange({ ...view, columns: view.columns.toSpliced(from, 1).toSpliced(place, 0, id) })
    announce(`${columnOf(id).label}: column ${place + 2} of ${view.columns.length + 1}`)
  }

  const properties = (
    <Properties
      projectId={projectId}
      text={asked}
      shown={view.columns}
      isFull={isFull}
      onShown={(path, isShown) => setShown(propertyColumn(path), isShown)}
    />
  )
  const columns = (
    <>
      <h3>Columns, in this order</h3>
      <ul>
        {'name'.includes(part) && (
          <li className="row">
            <label className="row grow">
              <input type="checkbox" checked disabled />
              <span>Name</span>
            </label>
            <small className="tiny muted">always</small>
          </li>
        )}
        {listed.map(id => (
          <li key={id} className="row" data-column={id}>
            <label className="row grow">
              <input
                type="checkbox"
                checked={view.columns.includes(id)}
                onChange={event => setShown(id, event.target.checked)}
              />
              <span className={propertyOf(id) === undefined ? 'break-anywhere' : 'break-anywhere mono'}>
                {columnOf(id).label}
              </span>
            </label>
            {view.columns.includes(id) && part === '' && (
              <Handle id={id} place={view.columns.indexOf(id)} onMove={move} />
            )}
          </li>
        ))}
      </ul>
      {leftOut.length > 0 && (
        <p className={`tiny muted break-anywhere ${panel.note}`}>
          Left out, because a column has at most {MAX_COLUMN_PATH_PARTS} parts between dots:{' '}
          {leftOut.join(', ')}
        </p>
      )}
    </>
  )
  return (
    <Popover label="Columns" className={`${panel.panel} ${styles.chooser}`} opener={opener} onClose={onClose}>
      <header className="row">
        <h2 className="grow">Columns</h2>
        <Button variant="ghost" size="sm" onClick={() => onChange({ ...view, ...DEFAULT_VIEW })}>
          Reset
        </Button>
      </header>
      <div className={styles.find}>
        <div className={`searchbox ${searchBox.box}`}>
          <Search className="icon" aria-hidden />
          <input
            className="input"
            type="search"
            placeholder="Find a column or property"
            aria-label="Find a column or property"
            maxLength={MAX_FILTER_LENGTH}
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={event => setText(event.target.value)}
          />
        </div>
      </div>
      <div className={styles.columns}>
        {part ? properties : columns}
        {part ? columns : properties}
      </div>
      <footer className="row">
        <span className="grow">Kept for you in this project.</span>
        <Button onClick={onClose}>Done</Button>
      </footer>
    </Popover>
  )
}

type PropertiesProps = {
  projectId: string
  text: string
  shown: readonly string[]
  isFull: boolean
  onShown: (path: string, isShown: boolean) => void
}

function Properties({ projectId, text, shown, isFull, onShown }: PropertiesProps) {
  const { data, error } = useActionState(
    'projects_QueryPropertyNames',
    { projectId, ...(text && { text }) },
    { keepPrevious: true },
  )
  if (error && !data) return <Note>{<ErrorText error={error} />}</Note>
  if (!data) return <Note>Counting…</Note>
  if (data.tookTooLong) return <Note>Properties were not found within 2 s.</Note>
  return (
    <>
      <h3>
        {text ? `Properties that match “${text}”` : 'Properties'}
        <span>{placeOf(data)}</span>
      </h3>
      {data.names.length === 0 && (
        <p className={`tiny muted break-anywhere ${panel.note}`}>No device has such a property.</p>
      )}
      <ul>
        {data.names.map(name => {
          const isShown = shown.includes(propertyColumn(name.path))
          return (
            <li key={name.path} className="row">
              <label className="row grow">
                <input
                  type="checkbox"
                  checked={isShown}
                  disabled={!isShown && (isFull || !isColumnPath(name.path))}
                  onChange={event => onShown(name.path, event.target.checked)}
                />
                <span className={`break-anywhere ${styles.path}`}>
                  <Marked className="mono" text={columnOf(propertyColumn(name.path)).label} part={text} />
                  <small className="tiny muted">{propertyWords(name)}</small>
                </span>
              </label>
              <small className="tiny muted tabular">{counted(name.deviceCount, 'device')}</small>
            </li>
          )
        })}
      </ul>
      <p className={`tiny muted break-anywhere ${panel.note}`}>
        {isFull && `At most ${MAX_PROPERTY_COLUMNS} properties. `}
        From the newest {counted(data.devicesRead, 'device')}.
      </p>
    </>
  )
}

function placeOf({ names, matchCount, nameCount }: ActionOutput<'projects_QueryPropertyNames'>): string {
  const isCut = names.length < matchCount
  return isCut
    ? `first ${names.length} of ${formatCount(matchCount)}`
    : `${formatCount(matchCount)} of ${formatCount(nameCount)}`
}

type HandleProps = { id: string; place: number; onMove: (id: string, to: number) => void }

/** Moves a column: by dragging, or with the arrow keys. */
function Handle({ id, place, onMove }: HandleProps) {
  const isDragging = useRef(false)
  const { label } = columnOf(id)

  function onPointerMove({ clientX, clientY }: PointerEvent) {
    if (!isDragging.current) return
    const over = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>('li[data-column]')
    const items = [...(over?.parentElement?.querySelectorAll<HTMLElement>('li[data-column]') ?? [])]
    if (over && over.dataset.column !== id) onMove(id, items.indexOf(over))
  }
  function onKeyDown(event: KeyboardEvent) {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    onMove(id, place + step)
  }
  return (
    <button
      type="button"
      className="copy"
      aria-label={`Move ${label}`}
      aria-description="Arrow up and arrow down move the column."
      onKeyDown={onKeyDown}
      onPointerDown={event => {
        event.currentTarget.setPointerCapture(event.pointerId)
        isDragging.current = true
      }}
      onPointerMove={onPointerMove}
      onPointerUp={() => {
        isDragging.current = false
      }}
    >
      <GripVertical className="icon" aria-hidden />
    </button>
  )
}
