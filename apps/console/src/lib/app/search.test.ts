import { expect, it } from 'vitest'
import { anyText, oneOf, readSearch } from './search.ts'

const page = { q: anyText, state: oneOf(['on', 'off']), sort: oneOf(['name', '-name'], 'name') }

it('reads texts and words, and uses the value of an absent parameter for other words', () => {
  expect(readSearch(page, { q: 'crane', state: 'off', sort: '-name' })).toEqual({
    q: 'crane',
    state: 'off',
    sort: '-name',
  })
  expect(readSearch(page, { state: 'toString', sort: 'size', other: 'x' })).toEqual({
    q: undefined,
    state: undefined,
    sort: 'name',
  })
})
