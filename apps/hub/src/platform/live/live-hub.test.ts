import type { LiveChange } from '@muster/actions'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LiveHub } from './live-hub.ts'

let hub: LiveHub
beforeEach(() => {
  vi.useFakeTimers()
  hub = new LiveHub()
})
afterEach(() => {
  hub.close()
  vi.useRealTimers()
})

function subscribe(userId: string, ...organizationIds: string[]) {
  const delivered: LiveChange[][] = []
  const update = hub.subscribe(userId, new Set(organizationIds), changes => delivered.push(changes))
  return { delivered, update }
}

const device = (deviceId: string, organizationId = 'org_a'): LiveChange => ({
  topic: 'devices',
  organizationId,
  projectId: 'p',
  deviceId,
})

describe('a change', () => {
  it('is delivered after 200 ms, together with later changes and in order', () => {
    const { delivered } = subscribe('u', 'org_a')
    hub.changed(device('d1'))
    vi.advanceTimersByTime(199)
    hub.changed(device('d2'))
    expect(delivered).toEqual([])
    vi.advanceTimersByTime(1)
    expect(delivered).toEqual([[device('d1'), device('d2')]])
    vi.advanceTimersByTime(10_000)
    expect(delivered).toHaveLength(1)
  })

  it('is delivered within a second while further changes follow', () => {
    const { delivered } = subscribe('u', 'org_a')
    for (let count = 0; count < 10; count++) {
      hub.changed(device(`d${count}`))
      vi.advanceTimersByTime(100)
    }
    expect(delivered.length).toBeGreaterThan(3)
  })

  it('that repeats within 200 ms is delivered once', () => {
    const { delivered } = subscribe('u', 'org_a')
    for (let count = 0; count < 1_000; count++) hub.changed(device('d1'))
    hub.changed({ ...device('d1'), topic: 'events' })
    vi.advanceTimersByTime(200)
    expect(delivered).toEqual([[device('d1'), { ...device('d1'), topic: 'events' }]])
  })

  it('reaches only subscribers of its organization', () => {
    const [a, b, both] = [
      subscribe('u1', 'org_a'),
      subscribe('u2', 'org_b'),
      subscribe('u3', 'org_a', 'org_b'),
    ]
    hub.changed(device('d1', 'org_a'))
    hub.changed(device('d2', 'org_b'))
    hub.changed(device('d3', 'org_c'))
    vi.advanceTimersByTime(200)
    expect(a.delivered).toEqual([[device('d1', 'org_a')]])
    expect(b.delivered).toEqual([[device('d2', 'org_b')]])
    expect(both.delivered).toEqual([[device('d1', 'org_a'), device('d2', 'org_b')]])
  })

  it('reaches people named by user id before they subscribe to the organization', () => {
    const [member, joining, other] = [subscribe('u1', 'org_a'), subscribe('u2'), subscribe('u3')]
    const change: LiveChange = { topic: 'organizations', organizationId: 'org_a' }
    hub.changed(change, ['u2', 'u1'])
    vi.advanceTimersByTime(200)
    expect(member.delivered).toEqual([[change]])
    expect(joining.delivered).toEqual([[change]])
    expect(other.delivered).toEqual([])
  })

  it('of a device becomes a change of its project after 200 pending notices', () => {
    const { delivered } = subscribe('u', 'org_a')
    for (let count = 0; count < 5_000; count++) hub.changed(device(`d${count}`))
    vi.advanceTimersByTime(200)
    const [changes] = delivered
    expect(changes).toHaveLength(201)
    expect(changes!.at(-1)).toEqual({ topic: 'devices', organizationId: 'org_a', projectId: 'p' })
    hub.changed(device('later'))
    vi.advanceTimersByTime(200)
    expect(delivered[1]).toEqual([device('later')])
  })
})

describe('a subscriber', () => {
  it('needs no timer while no change concerns it', () => {
    subscribe('u', 'org_a')
    expect(vi.getTimerCount()).toBe(0)
    hub.changed(device('d', 'org_b'))
    expect(vi.getTimerCount()).toBe(0)
    hub.changed(device('d'))
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(200)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('receives changes of its new organizations after an update', () => {
    const { delivered, update } = subscribe('u', 'org_a')
    update(new Set(['org_b']))
    hub.changed(device('d1', 'org_a'))
    hub.changed(device('d2', 'org_b'))
    vi.advanceTimersByTime(200)
    expect(delivered).toEqual([[device('d2', 'org_b')]])
  })

  it('receives nothing after it unsubscribed, not even pending notices', () => {
    const { delivered, update } = subscribe('u', 'org_a')
    hub.changed(device('d1'))
    update(undefined)
    expect(hub.subscriberCount).toBe(0)
    hub.changed(device('d2'))
    vi.advanceTimersByTime(200)
    update(new Set(['org_a']))
    hub.changed(device('d3'))
    vi.advanceTimersByTime(200)
    expect(delivered).toEqual([])
  })

  it('receives nothing after the hub was closed', () => {
    const { delivered } = subscribe('u', 'org_a')
    hub.changed(device('d1'))
    hub.close()
    vi.advanceTimersByTime(1_000)
    expect(delivered).toEqual([])
    expect(hub.subscriberCount).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})
