import { describe, expect, it, vi } from 'vitest'
import { holdBack, upToItsEnd } from './hold-back.ts'

const rows = (ids: string) => [...ids].map(deviceId => ({ deviceId }))
const idsOf = (list: readonly { deviceId: string }[]) => list.map(({ deviceId }) => deviceId).join('')

describe('holdBack', () => {
  const held = (answer: string, shown: string) => {
    const result = holdBack(rows(answer), new Set(shown))
    return `${idsOf(result.devices)}|${idsOf(result.held)}`
  }

  it('shows all rows of a new list, and rows after the last shown one', () => {
    expect(held('abc', '')).toBe('abc|')
    expect(held('abcde', 'abc')).toBe('abcde|')
  })

  it('holds back new rows above or between shown ones', () => {
    expect(held('xaybcz', 'abc')).toBe('abcz|xy')
  })

  it('allows rows to disappear and to move', () => {
    expect(held('cxa', 'abc')).toBe('ca|x')
  })

  it('shows all rows if no shown one is left', () => {
    expect(held('xyz', 'abc')).toBe('xyz|')
  })
})

describe('upToItsEnd', () => {
  const page = (ids: string, nextCursor?: string) => ({ devices: rows(ids), nextCursor })
  type Page = ReturnType<typeof page>
  const asked = async (before: Page, answer: Page, more = page('')) => {
    const askFrom = vi.fn(async () => more)
    const { devices, nextCursor } = await upToItsEnd(before, answer, askFrom)
    return { ids: idsOf(devices), nextCursor, requests: askFrom.mock.calls.length }
  }

  it('returns the answer unchanged if it contains the last row or is complete', async () => {
    expect(await asked(page('abc', 'c'), page('xyabc', 'c'))).toMatchObject({ ids: 'xyabc', requests: 0 })
    expect(await asked(page('abc'), page('ab'))).toMatchObject({ ids: 'ab', requests: 0 })
  })

  it('loads the rows that new ones have pushed out, so that the next page follows without a gap', async () => {
    const result = await asked(page('abc', 'c'), page('xya', 'a'), page('bcde', 'e'))
    expect(result).toEqual({ ids: 'xyabc', nextCursor: 'c', requests: 1 })
  })

  it('adds all rows after the last page', async () => {
    const result = await asked(page('abc'), page('xya', 'a'), page('bcde', 'e'))
    expect(result).toEqual({ ids: 'xyabcde', nextCursor: 'e', requests: 1 })
  })

  it('returns the answer unchanged if the last row is gone', async () => {
    const result = await asked(page('abc', 'c'), page('abd', 'd'), page('efg', 'g'))
    expect(result).toEqual({ ids: 'abd', nextCursor: 'd', requests: 1 })
  })
})
