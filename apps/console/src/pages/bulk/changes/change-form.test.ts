import { expect, it } from 'vitest'
import { type ChangeForm, readChange, type TypedChange } from './change-form.ts'

const typed = (values: Partial<TypedChange>): TypedChange => ({
  drafts: [],
  pattern: '',
  firstIndex: '',
  ...values,
})
const label = (key: string, value = '') => ({ drafts: [{ key, value }] })

it.each<[ChangeForm, Partial<TypedChange>, unknown]>([
  ['set', label('', ''), {}],
  ['set', label('ring', 'early'), { labels: { set: { ring: 'early' } } }],
  ['set', label('ring', ''), { problem: 'ring: A label needs a value.' }],
  ['remove', label(''), {}],
  ['remove', label(' ring '), { labels: { remove: ['ring'] } }],
  ['remove', label('Ring'), { problem: 'Small letters, digits, dot, dash, underscore, up to 63.' }],
  ['rename', {}, {}],
  [
    'rename',
    { pattern: 'site-{label:site}-{index:3}' },
    { rename: { pattern: 'site-{label:site}-{index:3}', firstIndex: 1 } },
  ],
  ['rename', { pattern: '{name}', firstIndex: '40' }, { rename: { pattern: '{name}', firstIndex: 40 } }],
  [
    'rename',
    { pattern: '{name}', firstIndex: 'x' },
    { indexProblem: 'Please enter a whole number, or nothing for 1.' },
  ],
])('reads a change of kind %s: %j', (form, values, read) => {
  expect(readChange(form, typed(values))).toEqual(read)
})

it('names the place of what is wrong with a pattern', () => {
  const { problem } = readChange('rename', typed({ pattern: 'a-{Site}' }))
  expect(problem).toMatch(/^Column 3: found \{Site\}, expected /)
})
