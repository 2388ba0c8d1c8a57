import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of a hub that breaks connections on request. */
export type CuttingProxy = Disposable & {
  url: string
  port: number
  /** Sets the port that connections are forwarded to. */
  leadTo(port: number): void
  /** Closes the next connection that has carried `afterBytes` bytes in this direction. */
  cutOnce(direction: 'up' | 'down', afterBytes: number): void
  /** With true, closes all connections and refuses new ones. With false, accepts new connections again. */
  down(isDown: boolean): void
  /** Number of bytes carried up (to the hub) and down so far, and number of connections closed by `cutOnce`. */
  carried: { up: number; down: number; cuts: number }
}

/** Starts a cutting proxy on a free port. */
export async function cuttingProxy(): Promise<CuttingProxy> {
  let target = 0
  let isDown = false
  let cut: { direction: 'up' | 'down'; afterBytes: number } | undefined
  const open = new Set<Socket>()
  const carried = { up: 0, down: 0, cuts: 0 }
  const server = createServer(client => {
    if (isDown) return client.resetAndDestroy()
    const hub = connect(target, '127.0.0.1')
    for (const [socket, other] of [
      [client, hub],
      [hub, client],
    ] as const) {
      open.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        open.delete(socket)
        // Bytes that arrived before the connection was closed are still delivered.
        other.end()
      })
    }
    const count = (direction: 'up' | 'down') => {
      let bytes = 0
      return (chunk: Buffer) => {
        bytes += chunk.length
        carried[direction] += chunk.length
        if (cut?.direction !== direction || bytes < cut.afterBytes) return
        cut = undefined
        carried.cuts++
        hub.destroy()
      }
    }
    client.on('data', count('up'))
    hub.on('data', count('down'))
    client.pipe(hub)
    hub.pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    carried,
    leadTo(at) {
      target = at
    },
    cutOnce(direction, afterBytes) {
      cut = { direction, afterBytes }
    },
    down(value) {
      isDown = value
      if (isDown) for (const socket of open) socket.destroy()
    },
    [Symbol.dispose]() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}
