import { capturedLog, connectDevice, failed, testHub, until, withWrongEnd } from '@muster/testkit'
import { expect, it } from 'vitest'
import { ConnectionCounts, logConnections } from './connection-counts.ts'

it('logs what has happened since the last line, and nothing for a quiet interval', async () => {
  const { log, named } = capturedLog('info')
  const counts = new ConnectionCounts()
  counts.connected(true)
  using _summaries = logConnections(counts, () => 7, log, 20)
  counts.connected(true)
  counts.connected(false)
  counts.ended('PeerClose')
  counts.refused('token_invalid')
  const lines = () => named('connections in the last minute')
  await until('the first line', async () => lines().length === 1)
  counts.refused('token_invalid')
  counts.refused('limit')
  await until('the second line', async () => lines().length === 2)
  expect(lines()).toMatchObject([
    { devices: 7, connects: 1, oneShotCommands: 1, ends: { PeerClose: 1 }, refusals: { token_invalid: 1 } },
    { devices: 7, connects: 0, oneShotCommands: 0, ends: {}, refusals: { token_invalid: 1, limit: 1 } },
  ])
})

it('logs single connections of devices at level debug, and each refusal at level info', async () => {
  const captured = capturedLog('debug')
  await using hub = await testHub({}, captured.log)
  const { token } = await hub.fleet()
  const device = await connectDevice({ url: hub.url, token })
  await device[Symbol.asyncDispose]()
  await failed(connectDevice({ url: hub.url, token: withWrongEnd(token) }))
  await until('the end is logged', async () => captured.named('connection ended').length === 1)
  expect(captured.named('device connected')).toMatchObject([{ level: 'debug' }])
  expect(captured.named('connection ended')).toMatchObject([{ level: 'debug' }])
  expect(captured.named('connection refused')).toMatchObject([{ level: 'info', reason: 'unknown token' }])
})
