import { expect, it } from 'vitest'
import { Heartbeat, heartbeatTimes } from './heartbeat.ts'

const make = (): Heartbeat => new Heartbeat(heartbeatTimes(5000, 15_000, 30_000))

it('pings at every interval while Pongs arrive, and smooths the round trip', () => {
  const heartbeat = make()
  expect(heartbeat.check(50, 5000, 1, true)).toBe('SendPing')
  heartbeat.flushed(50)
  expect(heartbeat.nextCheck(50, 1)).toBe(50)
  expect(heartbeat.pong(5080)).toBe(true)
  expect(heartbeat.roundTripMs).toBe(80)
  expect(heartbeat.nextCheck(51, 51)).toBe(49)
  expect(heartbeat.check(99, 9900, 51, true)).toBe('Wait')
  expect(heartbeat.check(100, 10_000, 51, true)).toBe('SendPing')
  expect(heartbeat.pong(10_160)).toBe(true)
  expect(heartbeat.roundTripMs).toBe(90)
})

it('refuses a Pong without a Ping', () => {
  const heartbeat = make()
  expect(heartbeat.pong(0)).toBe(false)
  heartbeat.check(50, 0, 1, true)
  expect(heartbeat.pong(1)).toBe(true)
  expect(heartbeat.pong(2)).toBe(false)
})

it('gives a silent peer 15 s after the Ping was flushed', () => {
  const heartbeat = make()
  expect(heartbeat.check(50, 0, 1, false)).toBe('SendPing')
  expect(heartbeat.nextCheck(50, 1)).toBe(10)
  expect(heartbeat.check(60, 0, 1, false)).toBe('Wait')
  expect(heartbeat.check(70, 0, 1, true)).toBe('Wait')
  expect(heartbeat.nextCheck(70, 1)).toBe(30)
  expect(heartbeat.nextCheck(100, 1)).toBe(10)
  expect(heartbeat.check(219, 0, 1, true)).toBe('Wait')
  expect(heartbeat.nextCheck(219, 1)).toBe(1)
  expect(heartbeat.check(220, 0, 1, true)).toBe('NoPong')
})

it('gives a peer that sends other frames four times as long', () => {
  const heartbeat = make()
  heartbeat.check(50, 0, 1, true)
  heartbeat.flushed(50)
  expect(heartbeat.check(200, 0, 199, true)).toBe('Wait')
  expect(heartbeat.check(649, 0, 649, true)).toBe('Wait')
  expect(heartbeat.check(650, 0, 650, true)).toBe('NoPong')
})

it('ends when a Ping cannot be flushed for 30 s', () => {
  const heartbeat = make()
  heartbeat.check(50, 0, 1, false)
  expect(heartbeat.check(349, 0, 349, false)).toBe('Wait')
  expect(heartbeat.check(350, 0, 350, false)).toBe('NotFlushed')
})

it('pings a peer that sends frames less often, but one that falls silent as soon as any other', () => {
  const heartbeat = new Heartbeat(heartbeatTimes(5000, 15_000, 30_000, 30_000))
  expect(heartbeat.check(301, 0, 300, true)).toBe('SendPing')
  expect(heartbeat.pong(10)).toBe(true)
  // The peer's last frame came at tick 340 of the timer wheel, whose ticks are 100 ms.
  expect(heartbeat.check(351, 0, 340, true)).toBe('Wait')
  expect(heartbeat.nextCheck(351, 340)).toBe(39)
  expect(heartbeat.check(390, 0, 340, true)).toBe('SendPing')
  expect(heartbeat.pong(20)).toBe(true)
  // A peer that keeps sending frames gets its next Ping only after 30 s.
  expect(heartbeat.check(689, 0, 688, true)).toBe('Wait')
  expect(heartbeat.nextCheck(689, 688)).toBe(1)
  expect(heartbeat.check(690, 0, 688, true)).toBe('SendPing')
})

it('O12: pings a peer that sends Pings 1.5 intervals after its last frame, but first one interval after its Hello', () => {
  const heartbeat = new Heartbeat(heartbeatTimes(5000, 15_000, 30_000, 60_000))
  expect(heartbeat.begin(10)).toBe(50)
  heartbeat.peerPinged()
  expect(heartbeat.check(60, 0, 59, true)).toBe('SendPing')
  expect(heartbeat.pong(10)).toBe(true)
  expect(heartbeat.nextCheck(61, 61)).toBe(75)
  expect(heartbeat.check(135, 0, 61, true)).toBe('Wait')
  expect(heartbeat.check(136, 0, 61, true)).toBe('SendPing')
})
