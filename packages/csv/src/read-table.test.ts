import { MAX_IMPORT_CELL_LENGTH, MAX_IMPORT_ROWS } from '@muster/actions/client'
import { expect, it } from 'vitest'
import { CsvError } from './csv-error.ts'
import { importRows, readTable } from './read-table.ts'

it('reads the headers and rows of a file, and rows of an import from chosen columns', () => {
  const table = readTable('\uFEFFHost;Standort;Ring\r\n\r\ncrane-1;"pier;4";early\r\ncrane-2;pier2')
  expect(table).toEqual({
    headers: ['Host', 'Standort', 'Ring'],
    lines: [
      { line: 3, cells: ['crane-1', 'pier;4', 'early'] },
      { line: 4, cells: ['crane-2', 'pier2'] },
    ],
    delimiter: ';',
  })
  expect(importRows(table, 0, [2, 1])).toEqual([
    { row: 3, key: 'crane-1', values: ['early', 'pier;4'] },
    { row: 4, key: 'crane-2', values: ['', 'pier2'] },
  ])
})

it.each([
  ['', 'empty file'],
  ['host,site', 'only one line'],
  ['host,site\na,b,c', 'Line 2: found 3 cells, expected 2'],
  [`host\n${'x\n'.repeat(MAX_IMPORT_ROWS + 1)}`, '100001 rows'],
])('refuses what is no table: %#', (text, message) => {
  expect(() => readTable(text)).toThrow(CsvError)
  expect(() => readTable(text)).toThrow(message)
})

it('refuses a cell that is too long only in a column that is imported', () => {
  const table = readTable(`host,site,note\na,b,${'x'.repeat(MAX_IMPORT_CELL_LENGTH + 1)}`)
  expect(importRows(table, 0, [1])).toEqual([{ row: 2, key: 'a', values: ['b'] }])
  expect(() => importRows(table, 0, [2])).toThrow('Line 2: found a cell of 1025 characters')
})
