// Web server and minimal tunnel for the tunnel bench. Forked by the bench. The first argument is the role: `source` is the web
// server on the device. `hub` and `device` are the ends of the minimal tunnel over one WebSocket, the yardstick for the hub's
// tunnel. The minimal tunnel sends frames of 16 KiB prefixed by the stream's id, and has no flow-control windows,
// half-closed streams or permissions.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { WebSocket, WebSocketServer } from 'ws'
import { generated } from './generated.ts'

const [role, ...options] = process.argv.slice(2) as [string, ...string[]]
const CHUNK = Buffer.alloc(128 * 1024, 'muster')
const FRAME_BYTES = 16 * 1024
/** Limit of bytes buffered by the WebSocket. Above it, streams are not read. */
const HIGH_WATER_BYTES = 1024 * 1024
/** Id of the stream that transfers the ids of new streams. */
const OPENINGS = 0

process.on('disconnect', () => process.exit(0))
if (role === 'source') source()
else if (role === 'hub') hub(options as [string, string])
else device(options as [string, string])

function ready(port: number): void {
  process.send!({ port })
}

/**
 * Starts the web server. `/flat` sends a nearly endless stream, `/bytes/N` sends N bytes, a POST is answered with the SHA-256
 * of its body, and any other path is a small page.
 */
function source(): void {
  const server = createHttpServer((request, response) => {
    const [, bytes] = /^\/bytes\/(\d+)$/.exec(request.url!) ?? []
    if (request.method === 'POST') {
      const hash = createHash('sha256')
      request
        .on('data', (chunk: Buffer) => hash.update(chunk))
        .on('end', () => response.end(hash.digest('hex')))
      return
    }
    if (bytes !== undefined) {
      response.writeHead(200, { 'content-length': bytes })
      generated(Number(bytes)).pipe(response)
      return
    }
    if (request.url !== '/flat') {
      response.end('x'.repeat(100))
      return
    }
    response.writeHead(200, { 'content-length': 10e9 })
    const more = (): void => {
      while (response.write(CHUNK));
    }
    response.on('drain', more)
    more()
  }).listen(0, '127.0.0.1', () => ready((server.address() as AddressInfo).port))
}

function hub([certPath, keyPath]: [string, string]): void {
  const tls = { cert: readFileSync(certPath), key: readFileSync(keyPath) }
  const streams = new Map<number, Socket>()
  let link: WebSocket | undefined
  let nextId = 1
  const forDevices = createHttpsServer({ ...tls, requestCert: true, rejectUnauthorized: false })
  new WebSocketServer({ server: forDevices, perMessageDeflate: false }).on('connection', webSocket => {
    link = webSocket
    receive(webSocket, streams)
  })
  const forClients = createTlsServer(tls, socket => {
    const id = nextId++
    const opening = Buffer.alloc(8)
    opening.writeUInt32BE(OPENINGS, 0)
    opening.writeUInt32BE(id, 4)
    link!.send(opening)
    attach(link!, streams, id, socket)
  })
  forDevices.listen(0, '127.0.0.1', () =>
    forClients.listen(0, '127.0.0.1', () => {
      const devicePort = (forDevices.address() as AddressInfo).port
      process.send!({ port: (forClients.address() as AddressInfo).port, devicePort })
    }),
  )
}

function device([devicePort, targetPort]: [string, string]): void {
  const streams = new Map<number, Socket>()
  // A real device presents a client certificate. A certificate affects only the handshake, which is not measured.
  const webSocket = new WebSocket(`wss://127.0.0.1:${devicePort}`, {
    perMessageDeflate: false,
    rejectUnauthorized: false,
  })
  webSocket.once('open', () => ready(0))
  receive(webSocket, streams, id => attach(webSocket, streams, id, connect(Number(targetPort), '127.0.0.1')))
}

function attach(webSocket: WebSocket, streams: Map<number, Socket>, id: number, socket: Socket): void {
  streams.set(id, socket)
  socket.setNoDelay(true)
  const sent = (): void => {
    if (socket.isPaused() && webSocket.bufferedAmount < HIGH_WATER_BYTES / 2) socket.resume()
  }
  socket.on('data', (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += FRAME_BYTES)
      webSocket.send(frame(id, bytes.subarray(at, at + FRAME_BYTES)), sent)
    if (webSocket.bufferedAmount > HIGH_WATER_BYTES) socket.pause()
  })
  socket.on('close', () => {
    if (streams.delete(id)) webSocket.send(frame(id, Buffer.alloc(0)))
    // `receive` pauses the WebSocket until a full socket drains. A closed socket never drains, so this resumes the WebSocket.
    webSocket.resume()
  })
  socket.on('error', () => {})
}

function frame(id: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(4 + payload.length)
  bytes.writeUInt32BE(id, 0)
  payload.copy(bytes, 4)
  return bytes
}

function receive(webSocket: WebSocket, streams: Map<number, Socket>, open?: (id: number) => void): void {
  webSocket.on('message', (data: Buffer) => {
    const id = data.readUInt32BE(0)
    if (id === OPENINGS) {
      open!(data.readUInt32BE(4))
      return
    }
    const socket = streams.get(id)
    if (!socket) return
    if (data.length === 4) {
      streams.delete(id)
      socket.end()
    } else if (!socket.write(data.subarray(4))) {
      webSocket.pause()
      socket.once('drain', () => webSocket.resume())
    }
  })
}
