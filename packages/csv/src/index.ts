export { CsvError } from './csv-error.ts'
export { decodeText } from './decode-text.ts'
export { type ImportedRow, type ImportTable, importPortions, readImport } from './read-import.ts'
export { resultCsv } from './result-csv.ts'
