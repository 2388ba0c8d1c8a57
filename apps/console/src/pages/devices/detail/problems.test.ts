import { describe, expect, it } from 'vitest'
import { offlineProblem, problemsOf } from './problems.ts'
import type { Properties } from './well-known.ts'

const NO_REFUSAL = { isConnected: true, refusals: [], certificates: [] }
const AT = '2026-11-22T08:00:00Z'

function properties(values: Record<string, unknown>): Properties {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      { name, value, lastUpdated: AT, protected: false, version: 1 },
    ]),
  )
}

function sentences(values: Record<string, unknown>): string[] {
  return problemsOf(NO_REFUSAL, properties(values)).map(({ sentence }) => sentence)
}

const ota = (value: object) => ({ 'dev.nexigon.ota.status': value })
const health = (status: unknown) => ({ 'dev.nexigon.system.health': { status } })

describe('problemsOf', () => {
  it('says which update failed, how often and why', () => {
    const failed = { state: 'failed', targetVersion: '2.23.0' }
    expect(sentences(ota({ ...failed, failureCount: 6, lastError: 'no space left on device' }))).toEqual([
      'Update to 2.23.0 failed 6 times: no space left on device',
    ])
    expect(sentences(ota(failed))).toEqual(['Update to 2.23.0 failed once'])
    expect(sentences(ota({ state: 'failed' }))).toEqual(['Update failed once'])
    expect(sentences(ota({ state: 'installing', targetVersion: '2', failureCount: 1_200 }))).toEqual([
      'Update to 2 failed 1,200 times',
    ])
  })

  it('finds no problem in a completed update, in a healthy device and in values of unexpected types', () => {
    for (const value of [null, [], 'failed', { state: 7 }, { failureCount: -1 }, { failureCount: 'x' }])
      expect(sentences(ota(value as never))).toEqual([])
    expect(sentences(ota({ state: 'completed', failureCount: 3 }))).toEqual([])
    for (const status of ['healthy', 'unknown word', null, 3, {}])
      expect(sentences(health(status))).toEqual([])
    expect(sentences({})).toEqual([])
  })

  it('cuts long texts of the device', () => {
    const [sentence] = sentences(
      ota({ state: 'failed', targetVersion: '2', lastError: 'x'.repeat(1_000_000) }),
    )
    expect(sentence).toBe(`Update to 2 failed once: ${'x'.repeat(300)}…`)
  })

  it('orders refusal, update and health by their gravity', () => {
    const reason = 'The certificate is revoked.'
    const details = {
      lastRefusal: { at: AT, reason, count: 15, since: '2026-11-22T07:00:00Z' },
      refusals: [{ at: AT, reason, address: '203.0.113.7' }],
      certificates: [],
    }
    const all = problemsOf(
      { ...details, isConnected: false },
      properties({ ...health('degraded'), ...ota({ state: 'failed' }) }),
    )
    expect(all.map(({ sentence, tone }) => [sentence, tone])).toEqual([
      ['Refused 15 times: The certificate is revoked.', 'bad'],
      ['Update failed once', 'bad'],
      ['Health: degraded', 'warn'],
    ])
    expect(all[0]).toMatchObject({ firstAt: '2026-11-22T07:00:00Z', lastAt: AT, address: '203.0.113.7' })
    const shared = {
      ...details,
      isConnected: false,
      sharedIdentity: { takeovers: 13, addresses: ['203.0.113.7', '203.0.113.9'], firstAt: AT, lastAt: AT },
      certificates: [
        {
          status: 'Active',
          sharedWith: [{ deviceId: 'd_2', status: 'Active' }],
          sharedCount: 1,
          firstSeen: AT,
        },
      ] as never,
    }
    const clock = { clockErrorSecs: 5 * 366 * 86_400, receivedAt: AT }
    expect(problemsOf(shared, properties(health('degraded')), clock).map(({ kind }) => kind)).toEqual([
      'refused',
      'identity',
      'health',
      'certificate',
      'clock',
    ])
    expect(problemsOf({ ...details, isConnected: true }, {})).toEqual([])
    expect(problemsOf(NO_REFUSAL, properties(health('error')))[0]).toMatchObject({ tone: 'bad' })
  })
})

describe('a shared identity', () => {
  const identity = (values: object) => {
    const sharedIdentity = {
      takeovers: 13,
      addresses: ['203.0.113.7', '203.0.113.9'],
      firstAt: AT,
      lastAt: AT,
    }
    return problemsOf({ ...NO_REFUSAL, sharedIdentity: { ...sharedIdentity, ...values } }, {})[0]!
  }

  it('D1: is a sentence with the number of takeovers and the addresses, and with what to do', () => {
    expect(identity({}).sentence).toBe(
      'Two machines share this identity: 13 takeovers in 10 minutes, from 203.0.113.7 and 203.0.113.9',
    )
    expect(identity({}).advice).toContain('stop its agent, delete its key')
    expect(identity({ takeovers: 200, addresses: ['203.0.113.7'], isOneMachine: true }).sentence).toBe(
      'Two agents on one machine share this identity: 200 or more takeovers in 10 minutes, from 203.0.113.7',
    )
  })
})

describe('a shared certificate', () => {
  it('D2: is a problem of each device where it is accepted, with the other devices', () => {
    const sharedWith = [{ deviceId: 'd_2', status: 'Pending' }]
    const of = (status: string, sharedCount: number) =>
      problemsOf(
        { ...NO_REFUSAL, certificates: [{ status, sharedWith, sharedCount, firstSeen: AT }] as never },
        {},
      )
    expect(of('Active', 1)).toMatchObject([
      {
        sentence: 'Another device has the certificate of this one',
        sharedWith: { devices: sharedWith, count: 1 },
      },
    ])
    expect(of('Active', 7)[0]!.sentence).toBe('7 other devices have the certificate of this one')
    expect(of('Revoked', 1)).toEqual([])
  })
})

describe('a certificate that ends', () => {
  it('D9: is a warning while it is valid, and worse afterwards', () => {
    const at = (certificateEndsAt: string) =>
      problemsOf({ ...NO_REFUSAL, certificateEndsAt }, {}, undefined, Date.parse(AT))
    expect(at('2026-12-04T08:00:00Z')).toMatchObject([
      { tone: 'warn', sentence: 'Certificate ends in 12 days' },
    ])
    expect(at('2026-11-19T08:00:00Z')).toMatchObject([
      { tone: 'bad', sentence: 'Certificate expired 3 days ago' },
    ])
  })
})

describe('a wrong clock', () => {
  it.each([
    [-56.9 * 365 * 86_400, '56 years'],
    [5 * 366 * 86_400, '5 years'],
    [6 * 60, '6 minutes'],
  ])('D3: is a problem with its error in words: %i s', (clockErrorSecs, words) => {
    const [problem] = problemsOf(NO_REFUSAL, {}, { clockErrorSecs, receivedAt: AT })
    expect(problem).toMatchObject({ sentence: `Device clock wrong by ${words}`, tone: 'warn', lastAt: AT })
    expect(problemsOf(NO_REFUSAL, {}, { receivedAt: AT })).toEqual([])
  })
})

describe('offlineProblem', () => {
  const NOW = Date.parse('2026-06-08T12:00:00Z')
  const at = (minutesAgo: number) => new Date(NOW - minutesAgo * 60_000).toISOString()
  const offline = (...spans: [from: number, to: number][]) =>
    offlineProblem(
      spans.map(([from, to]) => ({ connectedAt: at(from), endedAt: at(to) })),
      NOW,
    )

  it('is found if a device is disconnected for longer than any interruption in the 30 days before', () => {
    expect(offline([500, 60], [700, 550])).toMatchObject([{ kind: 'offline', lastAt: at(60) }])
    expect(offline([500, 60], [700, 600])).toEqual([])
    expect(offline([500, 5])).toEqual([])
    expect(offline()).toEqual([])
  })

  it('says why the last connection ended, if that is known', () => {
    const ended = (endReason?: 'NodeCrashed' | 'Unknown') =>
      offlineProblem([{ connectedAt: at(90), endedAt: at(60), ...(endReason && { endReason }) }], NOW)[0]!
        .sentence
    expect(ended('NodeCrashed')).toMatch(/^Not connected since .*: the node that it was connected to failed$/)
    expect(ended('Unknown')).not.toContain(': ')
    expect(ended()).toBe(ended('Unknown'))
  })

  it('does not count interruptions before that time', () => {
    const days = 24 * 60
    expect(offline([40 * days, 2 * days], [60 * days, 50 * days])).toHaveLength(1)
  })
})
