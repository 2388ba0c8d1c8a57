import { describe, expect, it } from 'vitest'
import { auditFilter } from './audit-search.ts'

describe('auditFilter', () => {
  it('asks for nothing when the address says nothing', () => {
    expect(auditFilter({})).toEqual({})
    expect(auditFilter({ actor: '  ' })).toEqual({})
  })

  it('asks for one type and one actor', () => {
    expect(auditFilter({ actor: ' mira ', type: 'users_Created' })).toEqual({
      actor: 'mira',
      types: ['users_Created'],
    })
  })

  it('includes both days, in the zone of the reader', () => {
    expect(auditFilter({ from: '2026-02-28', to: '2026-02-28' })).toEqual({
      since: new Date(2026, 1, 28).toISOString(),
      until: new Date(2026, 2, 1).toISOString(),
    })
  })

  it.each(['0002-11-20', 'yesterday', '2026-1-2', '20261-01-01'])('leaves %j out', day => {
    expect(auditFilter({ from: day, to: day })).toEqual({})
  })
})
