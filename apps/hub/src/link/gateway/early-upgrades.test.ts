import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { until } from '@muster/testkit/until'
import { expect, it } from 'vitest'
import { EarlyUpgrades } from './early-upgrades.ts'

async function listen() {
  const early = new EarlyUpgrades({})
  const server = createServer()
  early.attach(server)
  let arrived = 0
  server.on('upgrade', () => arrived++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const clients: Socket[] = []
  return {
    early,
    ask(name: string) {
      const socket = connect(port, '127.0.0.1')
      clients.push(socket)
      socket.on('error', () => {})
      let text = ''
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      socket.write(
        `GET /${name} HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhead`,
      )
      return { socket, text: () => text }
    },
    arrived: (count: number) => until(`${count} arrived`, () => arrived === count),
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

it('holds upgrade requests until the hub is ready, and passes them on in order with the bytes that follow them', async () => {
  await using fixture = await listen()
  const first = fixture.ask('first')
  await fixture.arrived(1)
  const second = fixture.ask('second')
  await fixture.arrived(2)
  expect(first.text() + second.text()).toBe('')

  const served: string[] = []
  fixture.early.open((request, socket, head) => {
    served.push(`${request.url} ${head}`)
    socket.end('served')
  })
  expect(served).toEqual(['/first head', '/second head'])
  const third = fixture.ask('third')
  for (const client of [first, second, third]) await until('it is served', () => client.text() === 'served')
  expect(served).toHaveLength(3)
})

it('survives clients that disconnect while they wait, and closes all sockets when the hub fails to start', async () => {
  await using fixture = await listen()
  const gone = fixture.ask('gone')
  await fixture.arrived(1)
  gone.socket.resetAndDestroy()
  const kept = fixture.ask('kept')
  await fixture.arrived(2)
  const closed = once(kept.socket, 'close')
  fixture.early[Symbol.dispose]()
  await closed
  expect(kept.text()).toBe('')
})
