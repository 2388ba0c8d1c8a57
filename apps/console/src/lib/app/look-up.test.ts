import { describe, expect, it } from 'vitest'
import { lookUp } from './look-up.ts'

const TONES = { Active: 'ok', Revoked: 'bad' }

describe('lookUp', () => {
  it('finds a known word', () => {
    expect(lookUp(TONES, 'Revoked', 'neutral')).toBe('bad')
  })

  it.each(['Suspended', '', 'constructor', '__proto__'])('C1: answers the neutral entry for %j', word => {
    expect(lookUp(TONES, word, 'neutral')).toBe('neutral')
  })
})
