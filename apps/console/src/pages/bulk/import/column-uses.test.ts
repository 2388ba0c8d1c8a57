import { expect, it } from 'vitest'
import { guessUses, readUses } from './column-uses.ts'

it('recognizes keys, names and labels by their headers', () => {
  expect(guessUses(['Host name', 'Name', 'label.site', 'Ring', 'MAC', 'Größe'])).toEqual({
    by: 'hostname',
    property: '',
    columns: [
      { kind: 'key' },
      { kind: 'name' },
      { kind: 'label', key: 'site' },
      { kind: 'label', key: 'ring' },
      { kind: 'none' },
      { kind: 'none' },
    ],
  })
  expect(guessUses(['name', 'serial', 'site'])).toEqual({
    by: 'property',
    property: 'serial',
    columns: [{ kind: 'name' }, { kind: 'key' }, { kind: 'label', key: 'site' }],
  })
})

it('reads the uses of columns as columns of an import', () => {
  const uses = guessUses(['id', 'site', 'note', 'name'])
  expect(readUses(uses)).toEqual({
    keyAt: 0,
    places: [
      { at: 1, column: 'label.site' },
      { at: 2, column: 'label.note' },
      { at: 3, column: 'name' },
    ],
  })
  const problem = (columns: (typeof uses)['columns'], other = {}) =>
    readUses({ ...uses, ...other, columns }).problem
  expect(problem([{ kind: 'name' }])).toBe('Choose the column that names the device.')
  expect(problem([{ kind: 'key' }, { kind: 'none' }])).toBe('Choose a column that is a name or a label.')
  expect(problem([{ kind: 'key' }, { kind: 'name' }, { kind: 'name' }])).toBe('Two columns set the name.')
  expect(problem([{ kind: 'key' }, { kind: 'label', key: 'Site' }])).toMatch(/^A key of a label/)
  expect(problem(uses.columns, { by: 'property', property: ' ' })).toBe('Type the name of the property.')
})
