import { describe, expect, it } from 'vitest'
import { isEmail, newPasswordErrors } from './rules.ts'

describe('isEmail', () => {
  it('takes something@something.something, with blanks around it', () => {
    expect(isEmail(' mira@halden.example ')).toBe(true)
    for (const text of ['', '  ', 'mira', 'mira@halden', '@halden.example', 'mira@.', 'mi ra@halden.example'])
      expect({ text, isEmail: isEmail(text) }).toEqual({ text, isEmail: false })
  })

  it('judges a long text at once', () => {
    const startedAt = performance.now()
    expect(isEmail(`${'a@'.repeat(10_000)}.`)).toBe(false)
    expect(isEmail(`a@${'.'.repeat(10_000)} `)).toBe(true)
    expect(performance.now() - startedAt).toBeLessThan(1000)
  })
})

describe('newPasswordErrors', () => {
  const texts = (password: string, confirmation = password): (string | undefined)[] =>
    Object.values(newPasswordErrors({ password, confirmation }))

  it('counts blanks, and a character once that takes two places', () => {
    expect(texts(' 234567 ')).toEqual([undefined, undefined])
    expect(texts('🛰'.repeat(7))).toEqual(['Password must be at least 8 characters long.', undefined])
    expect(texts('🛰'.repeat(8))).toEqual([undefined, undefined])
  })

  it('wants the same text twice', () => {
    expect(texts('long enough', 'long enough ')).toEqual([undefined, 'Passwords do not match.'])
  })
})
