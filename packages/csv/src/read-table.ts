import { MAX_IMPORT_CELL_LENGTH, MAX_IMPORT_ROWS } from '@muster/actions/client'
import { CsvError } from './csv-error.ts'
import { delimiterOf, type ImportedRow, type Line, readLines } from './read-import.ts'

/** A file whose columns a person chooses. */
export type CsvTable = {
  headers: string[]
  /** Rows below the headers. A row may have fewer cells than there are headers. */
  lines: Line[]
  /** Comma, semicolon or tab. */
  delimiter: string
}

/** Reads the headers and rows of a CSV file. Throws a `CsvError` for text that is no such file, with its line. */
export function readTable(text: string): CsvTable {
  const bare = text.replace(/^\uFEFF/, '')
  const [header, ...lines] = readLines(bare)
  if (!header) throw new CsvError('Found an empty file, expected a line with headers.')
  const headers = header.cells
  if (lines.length === 0) throw new CsvError('Found only one line, expected rows below the headers.')
  if (lines.length > MAX_IMPORT_ROWS)
    throw new CsvError(
      `Found ${lines.length} rows, expected at most ${MAX_IMPORT_ROWS}. Import the file in parts.`,
    )
  const long = lines.find(({ cells }) => cells.slice(headers.length).some(cell => cell !== ''))
  if (long)
    throw new CsvError(
      `found ${long.cells.length} cells, expected ${headers.length} as in the first line.`,
      long.line,
    )
  return { headers, lines, delimiter: delimiterOf(bare) }
}

/**
 * Rows for `devices_AddBulkImportRows`: the key at `keyAt`, and the cells at `places`, one for each column of the import. Throws a `CsvError` for
 * a cell that is too long.
 */
export function importRows({ lines }: CsvTable, keyAt: number, places: readonly number[]): ImportedRow[] {
  return lines.map(({ line, cells }) => {
    const used = [keyAt, ...places].map(at => (cells[at] ?? '').toWellFormed())
    for (const cell of used)
      if (cell.length > MAX_IMPORT_CELL_LENGTH)
        throw new CsvError(
          `found a cell of ${cell.length} characters, expected at most ${MAX_IMPORT_CELL_LENGTH}.`,
          line,
        )
    const [key = '', ...values] = used
    return { row: line, key, values }
  })
}
