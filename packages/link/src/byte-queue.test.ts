import fc from 'fast-check'
import { expect, inject, it } from 'vitest'
import { ByteQueue } from './byte-queue.ts'

it('keeps bytes in order for any sizes of pushed and taken pieces', () => {
  const step = fc.oneof(
    fc.record({ push: fc.oneof(fc.nat(40), fc.nat(9000)) }),
    fc.record({ copy: fc.nat(12_000) }),
    fc.constant({ shift: true }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const queue = new ByteQueue()
      let pushed = 0
      let taken = 0
      let pushes = 0
      const check = (piece: Uint8Array): void => {
        for (const byte of piece) if (byte !== taken++ % 251) throw new Error(`wrong byte at ${taken - 1}`)
      }
      for (const each of steps) {
        if ('push' in each) {
          if (each.push === 0) continue
          queue.push(Uint8Array.from({ length: each.push }, () => pushed++ % 251))
          pushes++
        } else if ('copy' in each) {
          const target = new Uint8Array(each.copy + 3)
          const count = Math.min(each.copy, queue.length)
          queue.copyTo(target, 3, each.copy)
          check(target.subarray(3, 3 + count))
        } else {
          const piece = queue.shift()
          if (piece === undefined) expect(queue.length).toBe(0)
          else {
            expect(queue.shiftedPushes).toBeGreaterThan(0)
            check(piece)
          }
        }
        expect(queue.length).toBe(pushed - taken)
      }
      expect(pushes).toBeLessThanOrEqual(steps.length)
    }),
    { seed: inject('fuzzSeed') },
  )
})

it('counts the pushes that were merged into one piece', () => {
  const queue = new ByteQueue()
  for (let i = 0; i < 5; i++) queue.push(Uint8Array.of(i))
  queue.push(new Uint8Array(5000))
  expect(queue.shift()).toEqual(Uint8Array.of(0, 1, 2, 3, 4))
  expect(queue.shiftedPushes).toBe(5)
  expect(queue.shift()).toHaveLength(5000)
  expect(queue.shiftedPushes).toBe(1)
  expect(queue.shift()).toBeUndefined()
})

it('does not keep a large buffer alive for a small part of it', () => {
  const queue = new ByteQueue()
  const socketBuffer = new Uint8Array(65_536)
  queue.push(socketBuffer.subarray(0, 3000))
  queue.push(socketBuffer.subarray(0, 100))
  queue.push(socketBuffer.subarray(0, 60_000))
  expect(queue.shift()?.buffer.byteLength).toBe(3000)
  expect(queue.shift()?.buffer.byteLength).toBeLessThan(5000)
  expect(queue.shift()?.buffer).toBe(socketBuffer.buffer)
})

it('does not grow when it is never completely empty', () => {
  const queue = new ByteQueue()
  const piece = new Uint8Array(2048)
  queue.push(piece)
  for (let i = 0; i < 1000; i++) {
    queue.push(piece)
    expect(queue.shift()).toHaveLength(2048)
  }
  expect(queue.length).toBe(2048)
})
