import { type CsvTable, decodeText, readTable } from '@muster/csv'
import { FileUp } from 'lucide-react'
import { type DragEvent, useId, useRef, useState } from 'react'
import { counted } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'
import styles from './ImportPage.module.css'

/** A table that a person has chosen, with the name of its file or "Pasted text". */
export type Source = { name: string; encoding: string; table: CsvTable }

type FileStepProps = {
  source: Source | undefined
  onSource: (source: Source | undefined) => void
}

/** Words for the characters between the cells. */
const DELIMITERS: Readonly<Record<string, string>> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' }
/** Pause in typing, in milliseconds, after which a pasted text is read. */
const PASTE_MS = 400

/** Takes a CSV file, by choice, drop or as pasted text, and says how it was read. */
export function FileStep({ source, onSource }: FileStepProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [error, setError] = useState<unknown>()
  const [isOver, setOver] = useState(false)
  const [text, setText] = useState('')

  function read(name: string, get: () => { text: string; encoding: string }) {
    setError(undefined)
    try {
      const decoded = get()
      onSource({ name, encoding: decoded.encoding, table: readTable(decoded.text) })
    } catch (cause) {
      setError(cause)
      onSource(undefined)
    }
  }
  async function take(file: File | undefined) {
    if (!file) return
    setText('')
    try {
      const bytes = new Uint8Array(await file.arrayBuffer())
      read(file.name, () => decodeText(bytes))
    } catch (cause) {
      setError(cause)
      onSource(undefined)
    }
  }
  function paste(typed: string) {
    setText(typed)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      if (typed.trim() === '') onSource(undefined)
      else read('Pasted text', () => ({ text: typed, encoding: 'utf-8' }))
    }, PASTE_MS)
  }
  const drop = {
    onDragOver: (event: DragEvent) => {
      event.preventDefault()
      setOver(true)
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      void take(event.dataTransfer.files[0])
    },
  }
  return (
    <section className="sheet" aria-labelledby={`${id}-title`}>
      <h2 className={styles.title} id={`${id}-title`}>
        File
      </h2>
      <div className={styles.body}>
        <div className={styles.drop} data-over={isOver || undefined} {...drop}>
          <input
            ref={input}
            type="file"
            id={`${id}-file`}
            className="visually-hidden"
            tabIndex={-1}
            aria-label="CSV file"
            accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values,text/plain"
            onChange={event => {
              void take(event.target.files?.[0])
              // The same file can be chosen again after it was mended.
              event.target.value = ''
            }}
          />
          <Button icon={FileUp} onClick={() => input.current?.click()}>
            {source ? 'Another file' : 'Choose a CSV file'}
          </Button>
          <span className="secondary">or drop it here, or paste its text:</span>
        </div>
        <textarea
          className={`input mono ${styles.text}`}
          aria-label="Text of the file"
          placeholder={'hostname;site;ring\ncrane-gw-0431;pier4;early'}
          rows={3}
          spellCheck={false}
          value={text}
          onChange={event => paste(event.target.value)}
        />
        {source && (
          <p className="secondary" role="status">
            <b>{source.name}</b>: {counted(source.table.lines.length, 'row')},{' '}
            {counted(source.table.headers.length, 'column')}, {DELIMITERS[source.table.delimiter] ?? 'commas'}
            , {source.encoding === 'windows-1252' ? 'Latin-1' : source.encoding.toUpperCase()}.
          </p>
        )}
        <ErrorAlert title="The file cannot be read." error={error} />
      </div>
    </section>
  )
}
