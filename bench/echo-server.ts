// Yardstick for the cost of a connection and of a message: a plain WebSocket server that echoes messages. Forked by a bench. The
// argument is JSON: `tls` names certificate files; with `corks` the answers of one event-loop turn leave in one write.
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'

export type EchoOptions = { tls?: { ca: string; cert: string; key: string }; corks?: boolean }

const { tls, corks } = JSON.parse(process.argv[2]!) as EchoOptions
const server = tls
  ? createHttpsServer({
      ca: readFileSync(tls.ca),
      cert: readFileSync(tls.cert),
      key: readFileSync(tls.key),
      requestCert: true,
      rejectUnauthorized: true,
    })
  : createHttpServer()
const webSockets = new WebSocketServer({ server, perMessageDeflate: false, maxPayload: 1024 * 1024 })
webSockets.on('connection', (webSocket, { socket }: { socket: Socket }) => {
  let isCorked = false
  webSocket.on('message', (data, binary) => {
    if (corks && !isCorked) {
      isCorked = true
      socket.cork()
      setImmediate(() => {
        isCorked = false
        socket.uncork()
      })
    }
    webSocket.send(data, { binary })
  })
  webSocket.on('error', () => {})
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () =>
  process.send!({ port: (server.address() as AddressInfo).port }),
)
process.on('disconnect', () => process.exit(0))
