import { MAX_FILTER_LENGTH } from '@muster/actions'
import { expect, it } from 'vitest'
import { searchTexts } from './search-texts.ts'

it('keeps texts that the hub accepts, and removes all other values', () => {
  const search = { q: 'x'.repeat(MAX_FILTER_LENGTH), sort: 12, time: true }
  expect(searchTexts(search as never)).toEqual({ q: search.q, sort: '12', time: 'true' })
  const wrong = { q: `${search.q}x`, kind: '', type: 'a\0b', from: ['2026'], to: {} }
  expect(Object.entries(searchTexts(wrong as never))).toEqual(Object.keys(wrong).map(key => [key, undefined]))
})
