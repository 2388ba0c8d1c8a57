import { RawJson } from '@muster/actions/exact-json'
import { type ReactNode, useState } from 'react'
import { counted, formatCount } from '../../lib/app/format.ts'
import { Button } from '../Button.tsx'
import styles from './JsonValue.module.css'

const ONE_LINE_CHARS = 80
const LONG_TEXT_CHARS = 600
const ENTRIES_AT_ONCE = 100

type JsonValueProps = {
  value: unknown
  label?: ReactNode
  /** Unfolds the first level. */
  open?: boolean
}

/** A JSON value, coloured by type: objects and arrays that do not fit one line as a tree, all others as text. */
export function JsonValue({ value, label, open = false }: JsonValueProps) {
  return isStructured(value) && !fitsOneLine(value) ? (
    <Tree value={value} label={label} startsOpen={open} />
  ) : (
    <pre className={`mono ${styles.json}`}>
      {label}
      {typeof value === 'string' ? (
        <LongText text={JSON.stringify(value)} className={styles.text} />
      ) : (
        <Inline value={value} />
      )}
    </pre>
  )
}

/** Inline text of any length. A long text is truncated and gets a button that shows the rest. */
export function LongText({ text, className }: { text: string; className?: string }) {
  const [isWhole, setWhole] = useState(false)
  const isCut = !isWhole && text.length > LONG_TEXT_CHARS
  return (
    <>
      <bdi className={className}>{isCut ? `${text.slice(0, LONG_TEXT_CHARS / 2)}…` : text}</bdi>
      {isCut && (
        <>
          {' '}
          <Button variant="ghost" size="sm" onClick={() => setWhole(true)}>
            Show all {formatCount(text.length)} characters
          </Button>
        </>
      )}
    </>
  )
}

/** Text to copy for a JSON value: strings as they are, other values as indented JSON. */
export function copyTextOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

function Tree({ value, label, startsOpen }: { value: object; label: ReactNode; startsOpen: boolean }) {
  const [isOpen, setOpen] = useState(startsOpen)
  const [shown, setShown] = useState(ENTRIES_AT_ONCE)
  const isList = Array.isArray(value)
  // A value may be a megabyte, so only unfolded levels are rendered.
  const entries = isOpen ? Object.entries(value) : []
  return (
    <details open={startsOpen} onToggle={event => setOpen(event.currentTarget.open)} style={{ minWidth: 0 }}>
      <summary className="mono" style={{ overflowWrap: 'anywhere' }}>
        {label}
        <span className="muted">
          {isList
            ? `[ ${counted(value.length, 'item')} ]`
            : `{ ${counted(Object.keys(value).length, 'key')} }`}
        </span>
      </summary>
      <div style={{ paddingInlineStart: 16 }}>
        {entries.slice(0, shown).map(([key, entry]) => (
          <JsonValue key={key} value={entry} label={<Key name={key} isIndex={isList} />} />
        ))}
        {entries.length > shown && (
          <Button variant="ghost" size="sm" onClick={() => setShown(shown + ENTRIES_AT_ONCE)}>
            Show {Math.min(ENTRIES_AT_ONCE, entries.length - shown)} more of {formatCount(entries.length)}
          </Button>
        )}
      </div>
    </details>
  )
}

function Key({ name, isIndex }: { name: string; isIndex: boolean }) {
  return (
    <span className={isIndex ? 'muted' : styles.name}>
      {isIndex ? `${name}: ` : `${JSON.stringify(name)}: `}
    </span>
  )
}

function Inline({ value }: { value: unknown }) {
  if (typeof value === 'string') return <bdi className={styles.text}>{JSON.stringify(value)}</bdi>
  if (!isStructured(value)) return <span className={styles.number}>{String(value)}</span>
  const isList = Array.isArray(value)
  const entries = Object.entries(value)
  if (entries.length === 0) return isList ? '[]' : '{}'
  return (
    <>
      {isList ? '[' : '{ '}
      {entries.map(([key, entry], index) => (
        <span key={key}>
          {index > 0 && ', '}
          {!isList && <Key name={key} isIndex={false} />}
          <Inline value={entry} />
        </span>
      ))}
      {isList ? ']' : ' }'}
    </>
  )
}

function isStructured(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof RawJson)
}

function fitsOneLine(value: object): boolean {
  return JSON.stringify(value).length <= ONE_LINE_CHARS
}
