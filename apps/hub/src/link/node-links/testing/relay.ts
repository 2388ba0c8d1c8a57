import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { createCertificate } from '@muster/link/certificate'

/** A TCP proxy between nodes. `cut` destroys its connections, `freeze` keeps them open but forwards no more bytes. */
export type NodeRelay = AsyncDisposable & { port: number; cut(): void; freeze(): void }

/** Starts a TCP proxy to a port of this machine. */
export async function relayTo(target: number): Promise<NodeRelay> {
  return relayOf(createServer(), () => connect(target, '127.0.0.1'))
}

/** Starts a proxy that terminates TLS with its own certificate, like a man in the middle. */
export async function tlsRelayTo(target: number): Promise<NodeRelay> {
  const { certificatePem: cert, keyPem: key } = createCertificate('relay')
  const server = createTlsServer({ cert, key })
  return relayOf(
    server,
    () => connectTls({ port: target, host: '127.0.0.1', rejectUnauthorized: false }),
    'secureConnection',
  )
}

async function relayOf(server: Server, open: () => Socket, event = 'connection'): Promise<NodeRelay> {
  const sockets: Socket[] = []
  server.on(event, (socket: Socket) => {
    const other = open()
    sockets.push(socket, other)
    for (const one of [socket, other]) one.on('error', () => {})
    socket.pipe(other)
    other.pipe(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    freeze() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    async [Symbol.asyncDispose]() {
      server.close()
      cut()
    },
  }
}
