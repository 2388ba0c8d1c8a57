import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { deviceIdentity, publicAgent, publicCommandLine, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'

it('I1: the first bytes are not delayed while the age of the peers is unknown', async () => {
  await using hub = await testHub()
  const { owner, token } = await hub.fleet()
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('answered'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await using agent = await publicAgent({
    age: '2026',
    url: hub.url,
    token,
    identity: await deviceIdentity(),
  })
  await using cli = await publicCommandLine({
    age: '2026',
    url: hub.url,
    userToken: await hub.userToken(owner),
  })
  using forward = await cli.forward(agent.deviceId, (server.address() as AddressInfo).port)
  const socket = connect({ port: forward.localPort, host: '127.0.0.1', allowHalfOpen: true })
  const startedAt = performance.now()
  socket.write('hello')
  await once(socket, 'data')
  expect(performance.now() - startedAt).toBeLessThan(250)
  socket.destroy()
  server.close()
})
