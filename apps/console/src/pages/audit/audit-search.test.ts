import { describe, expect, it } from 'vitest'
import { auditFilter } from './audit-search.ts'

describe('auditFilter', () => {
  it('is empty without search parameters', () => {
    expect(auditFilter({})).toEqual({})
    expect(auditFilter({ actor: '  ' })).toEqual({})
  })

  it('filters by type and actor', () => {
    expect(auditFilter({ actor: ' mira ', type: 'users_Created' })).toEqual({
      actor: 'mira',
      types: ['users_Created'],
    })
  })

  it('includes both days in the local time zone', () => {
    expect(auditFilter({ from: '2026-02-28', to: '2026-02-28' })).toEqual({
      since: new Date(2026, 1, 28).toISOString(),
      until: new Date(2026, 2, 1).toISOString(),
    })
  })

  it.each(['0002-11-20', 'yesterday', '2026-1-2', '20261-01-01'])('ignores %j', day => {
    expect(auditFilter({ from: day, to: day })).toEqual({})
  })
})
