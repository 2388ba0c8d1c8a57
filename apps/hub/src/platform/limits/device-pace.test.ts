import { connectDevice, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'

const KIB = 1024

// The lane takes calls of up to 64 KiB.
it.each([
  ['pipeline', 1000, 512],
  ['lane', 60, 128],
])(
  'S2: delays the answers of a device that sends too fast over the %s, and refuses no call',
  async (_way, kib, kibPerSec) => {
    const { limits } = loadConfig({})
    await using hub = await testHub({ limits: { ...limits, 'device-bytes-per-second': kibPerSec * KIB } })
    const { owner, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    await using neighbour = await connectDevice({ url: hub.url, token })
    const set = async (as: typeof device): Promise<void> => {
      const value = 'x'.repeat(kib * KIB)
      expect(await as.invoke('devices_SetProperty', { deviceId: as.deviceId, name: 'log', value })).toEqual({
        result: 'Set',
      })
    }
    const isReported = async (as: typeof device): Promise<boolean> => {
      const { limitHits } = await owner.invoke('devices_GetDetails', { deviceId: as.deviceId })
      return limitHits.some(({ limit }) => limit === 'device-bytes-per-second')
    }
    // The burst covers eight calls of 1 MiB, or as many bytes in shorter ones. A slow machine sends more, because the budget refills while the
    // calls run.
    const mostCalls = 40_000 / kib
    const startedMs = performance.now()
    let count = 0
    while (!(await isReported(device)) && count < mostCalls) {
      await set(device)
      count++
    }
    expect(count).toBeGreaterThan(8_000 / kib)
    expect(count).toBeLessThan(mostCalls)
    expect(performance.now() - startedMs).toBeGreaterThan(1_000)
    await set(neighbour)
    expect(await isReported(neighbour)).toBe(false)
  },
)
