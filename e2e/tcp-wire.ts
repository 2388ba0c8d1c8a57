import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/**
 * State of a `TcpWire`. `open` forwards bytes. `silent` keeps connections open but forwards nothing, like a network that drops packets.
 * `down` closes all connections and refuses new ones.
 */
type WireState = 'open' | 'silent' | 'down'

/** A TCP proxy that fails on request, like a network or a server. Bytes that were sent while it was `silent` arrive when it is `open`. */
export type TcpWire = AsyncDisposable & { port: number; set(state: WireState): void }

/** Starts the proxy on a free port. `open` connects to the server behind it. */
export async function tcpWire(open: () => Socket): Promise<TcpWire> {
  const sockets = new Set<Socket>()
  let state: WireState = 'open'
  const carry = (from: Socket, to: Socket): void => {
    sockets.add(from)
    if (state === 'silent') from.pause()
    from.on('data', bytes => void to.write(bytes))
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = createServer(client => {
    if (state === 'down') return void client.destroy()
    const upstream = open()
    carry(client, upstream)
    carry(upstream, client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      state = next
      if (state === 'down') return closeAll()
      for (const socket of sockets) state === 'silent' ? socket.pause() : socket.resume()
    },
    async [Symbol.asyncDispose]() {
      server.close()
      closeAll()
    },
  }
}
