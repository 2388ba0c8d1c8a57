import {
  type ActionInput,
  MAX_IMPORT_CELL_LENGTH,
  MAX_IMPORT_PORTION,
  MAX_IMPORT_ROWS,
} from '@muster/actions/client'
import Papa from 'papaparse'
import { CsvError } from './csv-error.ts'

type Form = ActionInput<'devices_CreateBulkImport'>
/** A row for `devices_AddBulkImportRows`. Its number is the line of the file on which it begins. */
export type ImportedRow = ActionInput<'devices_AddBulkImportRows'>['rows'][number]

/** What the keys of a file are, and in which of its columns they are. */
type KeyColumn = Pick<Form, 'by' | 'property'> & {
  /** Header of the column. Missing: by the kind of keys, such as `id`, else the first column. */
  header?: string
}

/** A file of names and labels. */
export type ImportTable = {
  /** Header of the column with the keys. */
  keyHeader: string
  /** Columns of `devices_CreateBulkImport`. */
  columns: string[]
  /** Headers of columns that an import does not know. They change nothing. */
  ignored: string[]
  rows: ImportedRow[]
}

const DELIMITERS = [',', ';', '\t']
/** Bytes of the rows in one call, measured as characters. A call takes 8 MiB, and a character has at most 6 bytes in JSON. */
const MAX_PORTION_CHARACTERS = 1024 * 1024

/** Headers of the key column by the kind of keys, in small letters without blanks and dashes. */
const KEY_HEADERS: Record<KeyColumn['by'], readonly string[]> = {
  id: ['id', 'deviceid', 'device'],
  hostname: ['hostname', 'host'],
  mac: ['mac', 'macaddress'],
  fingerprintId: ['fingerprintid', 'fingerprint'],
  property: [],
}
const LABEL_HEADER = /^(?:label[.:]|dev\.muster\.labels\.)(.*)$/s
const LABEL_KEY = /^(?!__proto__$)[a-z0-9._-]{1,63}$/

/**
 * Reads the text of a CSV file with names and labels. Commas, semicolons or tabs separate its cells, and quotes surround cells that contain
 * them. The first line has the headers: one for the keys, `name`, and `label.KEY` for each label. Throws a `CsvError` for text that is no such
 * file, with its line.
 */
export function readImport(text: string, key: KeyColumn): ImportTable {
  const lines = readLines(text.replace(/^\uFEFF/, ''))
  const [header] = lines
  if (!header) throw new CsvError('Found an empty file, expected a line with headers.')
  const { keyAt, columns, ignored } = columnsOf(header.cells, key)
  if (lines.length - 1 > MAX_IMPORT_ROWS)
    throw new CsvError(
      `Found ${lines.length - 1} rows, expected at most ${MAX_IMPORT_ROWS}. Import the file in parts.`,
    )
  const rows = lines.slice(1).map(({ line, cells }): ImportedRow => {
    if (cells.length > header.cells.length && cells.slice(header.cells.length).some(cell => cell !== ''))
      throw new CsvError(
        `found ${cells.length} cells, expected ${header.cells.length} as in the first line.`,
        line,
      )
    const used = [keyAt, ...columns.map(({ at }) => at)].map(at => cells[at] ?? '')
    for (const cell of used)
      if (cell.length > MAX_IMPORT_CELL_LENGTH)
        throw new CsvError(
          `found a cell of ${cell.length} characters, expected at most ${MAX_IMPORT_CELL_LENGTH}.`,
          line,
        )
    const [own, ...values] = used.map(cell => cell.toWellFormed())
    return { row: line, key: own!, values }
  })
  return {
    keyHeader: header.cells[keyAt]!.trim(),
    columns: columns.map(({ column }) => column),
    ignored,
    rows,
  }
}

/** Splits rows into portions that one call takes. */
export function importPortions(rows: readonly ImportedRow[]): ImportedRow[][] {
  const portions: ImportedRow[][] = []
  let characters = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const own = row.key.length + row.values.reduce((sum, value) => sum + value.length, 0)
    if (characters + own > MAX_PORTION_CHARACTERS || portions.at(-1)!.length >= MAX_IMPORT_PORTION) {
      portions.push([])
      characters = 0
    }
    portions.at(-1)!.push(row)
    characters += own
  }
  return portions
}

/** A row of a file with the line on which it begins. */
export type Line = { line: number; cells: string[] }

/** Rows of the text with the lines on which they begin, without blank ones. */
export function readLines(text: string): Line[] {
  const lines: Line[] = []
  let line = 1
  let cursor = 0
  Papa.parse<string[]>(text, {
    delimiter: delimiterOf(text),
    step: ({ data: cells, errors, meta }) => {
      const begins = line
      line += countBreaks(text, cursor, meta.cursor)
      cursor = meta.cursor
      const problem = errors.find(({ type }) => type === 'Quotes')
      if (problem)
        throw new CsvError('found a quote that is not closed, or text behind a closing quote.', begins)
      if (cells.some(cell => cell.trim() !== '')) lines.push({ line: begins, cells })
    },
  })
  return lines
}

/** Counts the line breaks of a part of a text: LF, CRLF or CR. */
function countBreaks(text: string, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) {
    const character = text[at]
    if (character === '\n' || (character === '\r' && text[at + 1] !== '\n')) count++
  }
  return count
}

/** The delimiter that the headers have most often outside of quotes. */
export function delimiterOf(text: string): string {
  const header = /^\s*((?:"(?:[^"]|"")*"|[^"\r\n])*)/.exec(text)?.[1] ?? ''
  const bare = header.replaceAll(/"(?:[^"]|"")*"/g, '')
  const counts = DELIMITERS.map(delimiter => ({ delimiter, count: bare.split(delimiter).length }))
  return counts.toSorted((one, other) => other.count - one.count)[0]!.delimiter
}

function columnsOf(headers: readonly string[], { by, property, header }: KeyColumn) {
  const names = headers.map(name => name.trim())
  const keyAt = keyColumnOf(names, by, header ?? property ?? undefined)
  const columns: { at: number; column: string }[] = []
  const ignored: string[] = []
  for (const [at, name] of names.entries()) {
    if (at === keyAt) continue
    const column = columnOf(name)
    if (column === undefined) {
      if (name !== '') ignored.push(name)
    } else if (columns.some(one => one.column === column))
      throw new CsvError(`found the header ${column} twice, expected it once.`, 1)
    else columns.push({ at, column })
  }
  if (columns.length === 0)
    throw new CsvError(
      `found the headers ${names.join(', ').slice(0, 200)}, expected name or label.KEY beside the column ${names[keyAt]}.`,
      1,
    )
  return { keyAt, columns, ignored }
}

const folded = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]/g, '')

function keyColumnOf(names: readonly string[], by: KeyColumn['by'], header: string | undefined): number {
  const exact = header === undefined ? -1 : names.findIndex(name => folded(name) === folded(header))
  if (exact >= 0) return exact
  // A chosen header must exist; the path of a property need not be one.
  if (header !== undefined && by !== 'property')
    throw new CsvError(
      `found the headers ${names.join(', ').slice(0, 200)}, expected ${header} among them.`,
      1,
    )
  const usual = names.findIndex(name => KEY_HEADERS[by].includes(folded(name)))
  if (usual >= 0) return usual
  if (columnOf(names[0]!) === undefined) return 0
  throw new CsvError(`found ${names[0]} as the first header, expected a column with keys (${by}).`, 1)
}

/** The column of an import that a header means; undefined for another one. Throws for a label with a wrong key. */
function columnOf(name: string): string | undefined {
  if (['name', 'devicename'].includes(folded(name))) return 'name'
  const key = LABEL_HEADER.exec(name)?.[1]
  if (key === undefined) return undefined
  if (!LABEL_KEY.test(key))
    throw new CsvError(
      `found the header ${name}, expected small letters, digits, dots, dashes and underscores, up to 63, behind label.`,
      1,
    )
  return `label.${key}`
}
