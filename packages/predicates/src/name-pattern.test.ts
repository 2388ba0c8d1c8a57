import { describe, expect, it } from 'vitest'
import { MAX_NAME_PATTERN_LENGTH, NamePatternError, nameByPattern, readNamePattern } from './name-pattern.ts'

const device = {
  deviceId: 'd_1',
  name: 'crane',
  hostname: 'gw-04',
  labels: { site: 'pier4', constructor: 'Liebherr' },
  index: 7,
}
const nameOf = (pattern: string, of = device) => nameByPattern(readNamePattern(pattern), of)

describe('a pattern of names', () => {
  it.each([
    ['site-{label:site}-{index}', 'site-pier4-7'],
    ['{hostname}', 'gw-04'],
    ['{name} ({id})', 'crane (d_1)'],
    ['{index:3}', '007'],
    ['{index:1}{index}', '77'],
    ['{{{name}}}', '{crane}'],
    ['{{name}}', '{name}'],
    ['{label:constructor}', 'Liebherr'],
    ['Kran ß 🏗', 'Kran ß 🏗'],
  ])('%s gives %s', (pattern, name) => {
    expect(nameOf(pattern)).toBe(name)
  })

  it.each([
    ['{label:ring}', device],
    ['{label:tostring}', device],
    ['{name}', { ...device, name: undefined as never }],
    ['{hostname}', { ...device, hostname: '' }],
  ])('%s gives no name to a device without the value', (pattern, of) => {
    expect(nameOf(pattern, of)).toBeUndefined()
  })

  it('keeps numbers that are longer than the digits', () => {
    expect(nameOf('{index:2}', { ...device, index: 12_345 })).toBe('12345')
  })

  it.each([
    ['a-{lable:site}', 3, '{lable:site}'],
    ['a-{label:}', 3, '{label:}'],
    ['{label:Site}', 1, '{label:Site}'],
    ['{label:__proto__}', 1, '{label:__proto__}'],
    ['{}', 1, '{}'],
    ['x{index:0}', 2, '{index:0}'],
    ['{index:10}', 1, '{index:10}'],
    ['{constructor}', 1, '{constructor}'],
    ['{__proto__}', 1, '{__proto__}'],
    ['{name', 1, 'not closed'],
    ['a}b', 2, 'not opened'],
    ['a {{name}', 9, 'not opened'],
    ['', 1, 'no text'],
    ['  ', 1, 'no text'],
    ['x'.repeat(MAX_NAME_PATTERN_LENGTH + 1), MAX_NAME_PATTERN_LENGTH + 1, '257 characters'],
  ])('%s is refused with the column', (pattern, column, found) => {
    let error: unknown
    try {
      readNamePattern(pattern)
    } catch (caught) {
      error = caught
    }
    expect(error).toBeInstanceOf(NamePatternError)
    expect(error).toMatchObject({ column, message: expect.stringContaining(`column ${column}: found`) })
    expect((error as NamePatternError).found).toContain(found)
  })
})
