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

function listening(userId: string, ...organizationIds: string[]) {
  const told: LiveChange[][] = []
  const update = hub.subscribe(userId, new Set(organizationIds), changes => told.push(changes))
  return { told, update }
}

const device = (deviceId: string, organizationId = 'org_a'): LiveChange => ({
  topic: 'devices',
  organizationId,
  projectId: 'p',
  deviceId,
})

describe('a change', () => {
  it('is delivered after 200 ms, together with later changes and in order', () => {
    const { told } = listening('u', 'org_a')
    hub.changed(device('d1'))
    vi.advanceTimersByTime(199)
    hub.changed(device('d2'))
    expect(told).toEqual([])
    vi.advanceTimersByTime(1)
    expect(told).toEqual([[device('d1'), device('d2')]])
    vi.advanceTimersByTime(10_000)
    expect(told).toHaveLength(1)
  })

  it('is delivered within a second while further changes follow', () => {
    const { told } = listening('u', 'org_a')
    for (let count = 0; count < 10; count++) {
      hub.changed(device(`d${count}`))
      vi.advanceTimersByTime(100)
    }
    expect(told.length).toBeGreaterThan(3)
  })

  it('that repeats within 200 ms is delivered once', () => {
    const { told } = listening('u', 'org_a')
    for (let count = 0; count < 1_000; count++) hub.changed(device('d1'))
    hub.changed({ ...device('d1'), topic: 'events' })
    vi.advanceTimersByTime(200)
    expect(told).toEqual([[device('d1'), { ...device('d1'), topic: 'events' }]])
  })

  it('reaches only subscribers of its organization', () => {
    const [a, b, both] = [
      listening('u1', 'org_a'),
      listening('u2', 'org_b'),
      listening('u3', 'org_a', 'org_b'),
    ]
    hub.changed(device('d1', 'org_a'))
    hub.changed(device('d2', 'org_b'))
    hub.changed(device('d3', 'org_c'))
    vi.advanceTimersByTime(200)
    expect(a.told).toEqual([[device('d1', 'org_a')]])
    expect(b.told).toEqual([[device('d2', 'org_b')]])
    expect(both.told).toEqual([[device('d1', 'org_a'), device('d2', 'org_b')]])
  })

  it('reaches people named by user id before they subscribe to the organization', () => {
    const [member, joining, stranger] = [listening('u1', 'org_a'), listening('u2'), listening('u3')]
    const change: LiveChange = { topic: 'organizations', organizationId: 'org_a' }
    hub.changed(change, ['u2', 'u1'])
    vi.advanceTimersByTime(200)
    expect(member.told).toEqual([[change]])
    expect(joining.told).toEqual([[change]])
    expect(stranger.told).toEqual([])
  })

  it('of a device becomes a change of its project after 200 pending notices', () => {
    const { told } = listening('u', 'org_a')
    for (let count = 0; count < 5_000; count++) hub.changed(device(`d${count}`))
    vi.advanceTimersByTime(200)
    const [changes] = told
    expect(changes).toHaveLength(201)
    expect(changes!.at(-1)).toEqual({ topic: 'devices', organizationId: 'org_a', projectId: 'p' })
    hub.changed(device('later'))
    vi.advanceTimersByTime(200)
    expect(told[1]).toEqual([device('later')])
  })
})

describe('a subscriber', () => {
  it('needs no timer while no change concerns it', () => {
    listening('u', 'org_a')
    expect(vi.getTimerCount()).toBe(0)
    hub.changed(device('d', 'org_b'))
    expect(vi.getTimerCount()).toBe(0)
    hub.changed(device('d'))
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(200)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('receives changes of its new organizations after an update', () => {
    const { told, update } = listening('u', 'org_a')
    update(new Set(['org_b']))
    hub.changed(device('d1', 'org_a'))
    hub.changed(device('d2', 'org_b'))
    vi.advanceTimersByTime(200)
    expect(told).toEqual([[device('d2', 'org_b')]])
  })

  it('receives nothing after it unsubscribed, not even pending notices', () => {
    const { told, update } = listening('u', 'org_a')
    hub.changed(device('d1'))
    update(undefined)
    expect(hub.subscriberCount).toBe(0)
    hub.changed(device('d2'))
    vi.advanceTimersByTime(200)
    update(new Set(['org_a']))
    hub.changed(device('d3'))
    vi.advanceTimersByTime(200)
    expect(told).toEqual([])
  })

  it('receives nothing after the hub was closed', () => {
    const { told } = listening('u', 'org_a')
    hub.changed(device('d1'))
    hub.close()
    vi.advanceTimersByTime(1_000)
    expect(told).toEqual([])
    expect(hub.subscriberCount).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})
