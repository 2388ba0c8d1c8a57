import { MAX_IMPORT_CELL_LENGTH, MAX_IMPORT_PORTION, MAX_IMPORT_ROWS } from '@muster/actions/client'
import { describe, expect, it } from 'vitest'
import { CsvError } from './csv-error.ts'
import { decodeText } from './decode-text.ts'
import { importPortions, readImport } from './read-import.ts'
import { resultCsv } from './result-csv.ts'

const byId = { by: 'id' as const }
const read = (text: string) => readImport(text, byId)
const refusal = (text: string, key = byId) => {
  try {
    readImport(text, key)
  } catch (error) {
    if (error instanceof CsvError) return error
    throw error
  }
  throw new Error('The text was accepted')
}

describe('a file of names and labels', () => {
  const TABLE = {
    keyHeader: 'id',
    columns: ['name', 'label.site'],
    ignored: [],
    rows: [
      { row: 2, key: 'd_1', values: ['Crane 1', 'pier4'] },
      { row: 3, key: 'd_2', values: ['', 'pier, 9'] },
    ],
  }
  it.each([
    ['commas', 'id,name,label.site\nd_1,Crane 1,pier4\nd_2,,"pier, 9"\n'],
    ['semicolons', 'id;name;label.site\r\nd_1;Crane 1;pier4\r\nd_2;;pier, 9\r\n'],
    ['tabs', 'id\tname\tlabel.site\nd_1\tCrane 1\tpier4\nd_2\t\tpier, 9'],
    ['line breaks of old computers', 'id,name,label.site\rd_1,Crane 1,pier4\rd_2,,"pier, 9"'],
    [
      'a byte order mark and quotes',
      '\uFEFF"id","name","label.site"\n"d_1","Crane 1","pier4"\n"d_2","","pier, 9"',
    ],
    ['other names of the headers', 'Device Id,NAME,label:site\nd_1,Crane 1,pier4\nd_2,,"pier, 9"'],
    ['the columns of an export', 'deviceId,name,dev.muster.labels.site\nd_1,Crane 1,pier4\nd_2,,"pier, 9"'],
    ['cells that are missing or empty at the end', 'id,name,label.site\nd_1,Crane 1,pier4,,\nd_2,,"pier, 9"'],
  ])('is read with %s', (_, text) => {
    expect(read(text)).toEqual({ ...TABLE, keyHeader: expect.any(String) })
  })

  it('numbers rows by the line on which they begin, and leaves out blank lines', () => {
    const { rows } = read('id,name\n\nd_1,"two\nlines"\n,\nd_2,"a ""quote"""\n')
    expect(rows).toEqual([
      { row: 3, key: 'd_1', values: ['two\nlines'] },
      { row: 6, key: 'd_2', values: ['a "quote"'] },
    ])
  })

  it('finds the keys in the column of their kind, in a chosen one, or in the first', () => {
    const text = 'unit,hostname,mac,name\nu,h,m,n'
    const keyOf = (key: Parameters<typeof readImport>[1]) => readImport(text, key).rows[0]!.key
    expect(keyOf({ by: 'hostname' })).toBe('h')
    expect(keyOf({ by: 'mac' })).toBe('m')
    expect(keyOf({ by: 'fingerprintId' })).toBe('u')
    expect(keyOf({ by: 'id', header: 'Host-Name' })).toBe('h')
    expect(keyOf({ by: 'property', property: 'unit' })).toBe('u')
    expect(keyOf({ by: 'property', property: 'app.serial' })).toBe('u')
    expect(readImport(text, { by: 'mac' }).ignored).toEqual(['unit', 'hostname'])
  })

  it.each([
    ['', 'empty file'],
    ['\n\n', 'empty file'],
    ['id\nd_1', 'expected name or label.KEY'],
    ['id,serial\nd_1,7', 'expected name or label.KEY'],
    ['name,id2\nd_1,7', 'expected a column with keys (id)'],
    ['id,name,name\nd_1,a,b', 'Line 1: found the header name twice'],
    ['id,label.site,label:site\nd_1,a,b', 'Line 1: found the header label.site twice'],
    ['id,label.Site\nd_1,a', 'Line 1: found the header label.Site'],
    ['id,label.__proto__\nd_1,a', 'Line 1: found the header label.__proto__'],
    ['id,name\nd_1,a\nd_2,b,c', 'Line 3: found 3 cells, expected 2'],
    ['id,name\nd_1,"a\nd_2,b', 'Line 2: found a quote that is not closed'],
    ['id,name\nd_1,"a"b\nd_2,b', 'Line 2: found a quote'],
    [`id,name\nd_1,${'x'.repeat(MAX_IMPORT_CELL_LENGTH + 1)}`, 'Line 2: found a cell of 1025 characters'],
  ])('is refused: %j', (text, message) => {
    expect(refusal(text).message).toContain(message)
  })

  it('is refused if the chosen column is missing', () => {
    expect(refusal('id,name\nd_1,a', { ...byId, header: 'unit' } as never).message).toContain('expected unit')
  })

  it('is read with 100,000 rows, split into portions, and refused with one more', () => {
    const lines = Array.from({ length: MAX_IMPORT_ROWS }, (_, at) => `d_${at},crane ${at},pier4`)
    const { rows } = read(`id,name,label.site\n${lines.join('\n')}`)
    expect(rows).toHaveLength(MAX_IMPORT_ROWS)
    expect(rows.at(-1)).toMatchObject({ row: MAX_IMPORT_ROWS + 1, key: 'd_99999' })
    const portions = importPortions(rows)
    expect(portions.flat()).toEqual(rows)
    for (const portion of portions) expect(portion.length).toBeLessThanOrEqual(MAX_IMPORT_PORTION)
    expect(refusal(`id,name\n${[...lines, 'x,y'].join('\n')}`).message).toContain('100001 rows')
    const wide = Array.from({ length: 3000 }, (_, at) => ({ row: at, key: 'k', values: ['x'.repeat(1000)] }))
    expect(importPortions(wide).length).toBe(3)
    expect(importPortions([])).toEqual([])
  })
})

describe('the bytes of a file', () => {
  const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
  it.each([
    ['UTF-8', Buffer.from('Kran ß 🏗')],
    ['UTF-8 with a mark', Buffer.from('\uFEFFKran ß 🏗')],
    ['UTF-16 with a mark', utf16('Kran ß 🏗')],
    ['big-endian UTF-16', utf16('Kran ß 🏗').swap16()],
  ])('are read as %s', (_, bytes) => {
    expect(decodeText(bytes).text).toBe('Kran ß 🏗')
  })

  it('are read as Windows-1252 if they are no UTF-8', () => {
    expect(decodeText(Buffer.from('Kran \xdf \x80', 'latin1'))).toEqual({
      text: 'Kran ß €',
      encoding: 'windows-1252',
    })
  })

  it.each([
    ['a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 13])],
    ['UTF-16 without a mark', Buffer.from('id', 'utf16le')],
    ['a broken mark', Buffer.from([0xef, 0xbb, 0xbf, 0xff])],
  ])('are refused: %s', (_, bytes) => {
    expect(() => decodeText(bytes)).toThrow(CsvError)
  })
})

describe('the results of a bulk action', () => {
  it('have a line for each device and each refused row, and run no formula', () => {
    const device = { deviceId: 'd_1' as never, exists: true, isConnected: false }
    const csv = resultCsv(
      [
        {
          ...device,
          name: '=cmd()',
          outcome: 'Succeeded',
          row: 2,
          changes: [
            { before: 'a,b', after: '=cmd()' },
            { label: 'site', after: 'pier4' },
          ],
        },
        { ...device, outcome: 'Skipped', reason: 'DeviceDeleted', changes: [] },
      ],
      [{ row: 4, key: 'd_9', problem: 'NotFound' }],
    )
    expect(csv.split('\r\n')).toEqual([
      '\uFEFFrow,deviceId,name,hostname,outcome,reason,name before,name after,site before,site after',
      expect.stringMatching(/^2,d_1,"?'=cmd\(\)"?,,Succeeded,,"a,b","?'=cmd\(\)"?,,pier4$/),
      ',d_1,,,Skipped,DeviceDeleted,,,,',
      '4,d_9,,,Refused,NotFound,,,,',
      '',
    ])
  })
})
