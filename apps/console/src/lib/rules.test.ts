import { describe, expect, it } from 'vitest'
import { isEmail, newPasswordErrors } from './rules.ts'

describe('isEmail', () => {
  it('accepts local@domain.tld with surrounding blanks', () => {
    expect(isEmail(' mira@halden.example ')).toBe(true)
    for (const text of ['', '  ', 'mira', 'mira@halden', '@halden.example', 'mira@.', 'mi ra@halden.example'])
      expect({ text, isEmail: isEmail(text) }).toEqual({ text, isEmail: false })
  })

  it('checks a long text in linear time', { timeout: 20_000 }, () => {
    expect(isEmail(`${'a@'.repeat(200_000)}.`)).toBe(false)
    expect(isEmail(`a@${'.'.repeat(200_000)} `)).toBe(true)
  })
})

describe('newPasswordErrors', () => {
  const texts = (password: string, confirmation = password): (string | undefined)[] =>
    Object.values(newPasswordErrors({ password, confirmation }))

  it('counts blanks, and a surrogate pair as one character', () => {
    expect(texts(' 234567 ')).toEqual([undefined, undefined])
    expect(texts('🛰'.repeat(7))).toEqual(['Password must be at least 8 characters long.', undefined])
    expect(texts('🛰'.repeat(8))).toEqual([undefined, undefined])
  })

  it('requires the same text twice', () => {
    expect(texts('long enough', 'long enough ')).toEqual([undefined, 'Passwords do not match.'])
  })
})
