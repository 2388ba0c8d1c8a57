import { describe, expect, it } from 'vitest'
import { type Properties, readOtaStatus, readSystemInfo } from './well-known.ts'

function properties(values: Record<string, [value: unknown, lastUpdated?: string]>): Properties {
  return Object.fromEntries(
    Object.entries(values).map(([name, [value, lastUpdated = '2026-06-01T00:00:00Z']]) => [
      name,
      { name, value, lastUpdated, protected: false, version: 1 },
    ]),
  )
}

describe('readSystemInfo', () => {
  it('uses the newer property of both names', () => {
    const older = ['dev.nexigon.systemInfo', 'dev.nexigon.system.info'] as const
    for (const [first, second] of [older, older.toReversed()] as [string, string][]) {
      const info = readSystemInfo(
        properties({
          [first]: [{ hostname: 'old' }, '2026-06-01T00:00:00Z'],
          [second]: [{ hostname: 'new' }, '2026-06-02T00:00:00.123456789Z'],
        }),
      )
      expect(info).toMatchObject({ hostname: 'new' })
    }
  })

  it('sorts interfaces by name and computes the free share of disks', () => {
    const info = readSystemInfo(
      properties({
        'dev.nexigon.system.info': [
          {
            networks: [{ name: 'wlan0' }, { name: 'eth0', ipAddresses: ['10.0.0.1/8', 7, null, {}] }],
            disks: [{ name: '/dev/sda', totalSpace: 200, availableSpace: 50 }],
          },
        ],
      }),
    )
    expect(info).toMatchObject({
      networks: [{ name: 'eth0', ipAddresses: ['10.0.0.1/8', '7'] }, { name: 'wlan0' }],
      disks: [{ availableShare: 0.25 }],
    })
  })

  it.each([[null], ['text'], [42], [[1, 2]]])('reports %j as unreadable', value => {
    expect(readSystemInfo(properties({ 'dev.nexigon.system.info': [value] }))).toBe('unreadable')
    expect(readOtaStatus(properties({ 'dev.nexigon.ota.status': [value] }))).toBe('unreadable')
  })

  it('accepts members of any type', () => {
    const odd = [null, 1, 'x', [], {}, [null], [[]], { total: 'big' }, -1, Number.MAX_VALUE]
    for (const value of odd) {
      const members = ['hostname', 'name', 'version', 'kernel', 'arch', 'memory', 'networks', 'disks']
      const info = readSystemInfo(
        properties({ 'dev.nexigon.system.info': [Object.fromEntries(members.map(name => [name, value]))] }),
      )
      expect(info).toMatchObject({ memoryBytes: undefined })
    }
    const disks = [
      { totalSpace: 0, availableSpace: 0 },
      { totalSpace: 10, availableSpace: 20 },
    ]
    const info = readSystemInfo(properties({ 'dev.nexigon.system.info': [{ disks }] }))
    expect(info).toMatchObject({ disks: [{ availableShare: undefined }, { availableShare: 1 }] })
  })

  it('returns undefined without a report', () => {
    expect(readSystemInfo({})).toBeUndefined()
    expect(readOtaStatus({})).toBeUndefined()
  })
})

describe('readOtaStatus', () => {
  it('accepts null and unknown members', () => {
    const status = readOtaStatus(
      properties({
        'dev.nexigon.ota.status': [{ state: 'committing', targetVersion: null, currentVersion: '1', x: [] }],
      }),
    )
    expect(status).toMatchObject({ state: 'committing', targetVersion: undefined, currentVersion: '1' })
  })
})
