import { describe, expect, it } from 'vitest'
import { DEFAULT_LIMITS } from './limits.ts'
import { ReceiveWindow } from './receive-window.ts'
import { SendWindow } from './send-window.ts'

describe('SendWindow', () => {
  it('needs credit of both kinds and splits to 16 KiB', () => {
    const window = new SendWindow(2, 40_000)
    expect(window.sendable).toBe(16_367)
    window.spend(39_999)
    expect(window.sendable).toBe(1)
    window.spend(1)
    expect(window.sendable).toBe(0)
    expect(window.add(0, 10)).toBe(true)
    expect(window.sendable).toBe(0)
    expect(window.add(1, 0)).toBe(true)
    expect(window.sendable).toBe(10)
  })

  it('refuses to pass 2^32-1 of either kind', () => {
    expect(new SendWindow(0xffffffff, 0).add(0, 5)).toBe(true)
    expect(new SendWindow(0xffffffff, 0).add(1, 0)).toBe(false)
    expect(new SendWindow(0, 0xfffffff0).add(0, 0x10)).toBe(false)
  })
})

describe('ReceiveWindow', () => {
  const consume = (window: ReceiveWindow, count: number, length: number): boolean => {
    let isDue = false
    for (let i = 0; i < count; i++) {
      expect(window.arrived(length)).toBe(true)
      isDue = window.consumed(1, length)
    }
    return isDue
  }
  const grant = (window: ReceiveWindow, now: number, horizonMs: number): [number, number] => {
    window.grant(now, horizonMs, DEFAULT_LIMITS)
    return [window.grantedFrames, window.grantedBytes]
  }

  it('charges on arrival and refuses a frame that exceeds either credit', () => {
    const window = new ReceiveWindow()
    for (let i = 0; i < 128; i++) expect(window.arrived(0)).toBe(true)
    expect(window.arrived(0)).toBe(false)
    const bytes = new ReceiveWindow()
    expect(bytes.arrived(16_385)).toBe(false)
    expect(bytes.arrived(16_384)).toBe(true)
    expect(bytes.arrived(1)).toBe(false)
    expect(bytes.arrived(0)).toBe(true)
  })

  it('returns both counters when half of either window was consumed', () => {
    const frames = new ReceiveWindow()
    expect(consume(frames, 63, 10)).toBe(false)
    expect(consume(frames, 1, 10)).toBe(true)
    expect(grant(frames, 1000, 50)).toEqual([64, 640])
    const bytes = new ReceiveWindow()
    expect(consume(bytes, 1, 8191)).toBe(false)
    expect(consume(bytes, 1, 1)).toBe(true)
    expect(grant(bytes, 1000, 50)).toEqual([2, 8192])
    expect(bytes.leftFrames).toBe(128)
    expect(bytes.leftBytes).toBe(16_384)
  })

  it('doubles the window that was half used within the horizon, up to 1024 frames and 1 MiB', () => {
    const window = new ReceiveWindow()
    expect(consume(window, 1, 8192)).toBe(true)
    expect(grant(window, 0, 50)).toEqual([1, 8192])
    expect(consume(window, 1, 8192)).toBe(true)
    expect(grant(window, 49, 50)).toEqual([1, 8192 + 16_384])
    expect(consume(window, 1, 16_384)).toBe(true)
    expect(grant(window, 99, 50)).toEqual([1, 16_384])
    let now = 100
    for (let i = 0; i < 12; i++) {
      while (!consume(window, 1, 16_384)) now += 0
      grant(window, ++now, 50)
    }
    expect(window.leftBytes).toBe(1024 * 1024)
    for (let i = 0; i < 6; i++) {
      while (!consume(window, 1, 1)) now += 0
      grant(window, ++now, 50)
    }
    expect(window.leftFrames).toBe(1024)
    expect(window.leftBytes).toBe(1024 * 1024)
  })

  it('never shrinks a window if the limits are below its initial size', () => {
    const window = new ReceiveWindow()
    for (let i = 0; i < 3; i++) {
      consume(window, 1, 8192)
      window.grant(i, 50, { maxReceiveFrames: 1, maxReceiveBytes: 1 })
      expect(window.leftBytes).toBe(16_384)
    }
  })
})
