import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import {
  errorEnvelope,
  Link,
  okEnvelopeOfJson,
  serveExecutor,
  WebSocketTransport,
  type WireErrorKind,
} from '@muster/link'
import { WebSocketServer } from 'ws'
import type { DeviceCertificate } from '../certificate.ts'

/** HTTP response with which the fake hub refuses a connection. */
export type FakeRefusal = { status: number; body?: string; headers?: Record<string, string> }

/** An action call that the fake hub received. */
export type FakeCall = { name: string; inputText: string; input: Record<string, unknown> }

type Connection = {
  link: Link
  /** Fingerprint of the certificate that the device presented in TLS. */
  certificate: string | undefined
  /** True if TLS resumed an earlier session. */
  isResumed: boolean
}

/** Device-facing part of a hub on a real socket, with data in memory, for the agent's tests. */
export class FakeHub implements AsyncDisposable {
  /** Headers of every connection request, including refused requests. */
  readonly requests: IncomingHttpHeaders[] = []
  /** Connections in the order of their start. */
  readonly connections: Connection[] = []
  readonly calls: FakeCall[] = []
  /** Refusals for the next connections, in order. Further connections are accepted. */
  readonly refusals: FakeRefusal[] = []
  /** Outputs as JSON text, by action name. Other actions return `{}`. */
  readonly answers: Record<string, string> = {
    actor_GetActor:
      '{"actor":{"actor":"Device","deviceId":"d_z7L73xZdkkMgwbAmTVcyXu","tokenId":"deployment_id_H3CwhLpqjTTt1An8PR7aCw"}}',
    devices_SetProperty: '{"result":"Set"}',
  }
  /** Error messages by action name. The hub answers these actions with an error of kind `Invalid`. */
  readonly errors: Record<string, string> = {}
  /** Refuses a call if it returns an error. It is called after the call is recorded. */
  refuse: (call: FakeCall) => { kind: WireErrorKind; message: string } | undefined = ({ name }) => {
    const message = this.errors[name]
    return message === undefined ? undefined : { kind: 'Invalid', message }
  }
  /** Time in milliseconds within which the hub asks devices to return; undefined for none. */
  returnWithinMs: number | undefined
  readonly #sockets = new Set<Socket>()
  readonly #webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  readonly #server: Server
  readonly #scheme: 'http' | 'https'

  private constructor(certificate: DeviceCertificate | undefined) {
    this.#scheme = certificate ? 'https' : 'http'
    this.#server = certificate
      ? createSecureServer({
          cert: certificate.certificatePem,
          key: certificate.keyPem,
          requestCert: true,
          rejectUnauthorized: false,
        })
      : createServer()
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    this.#server.on('upgrade', (request, socket, head) => {
      this.requests.push(request.headers)
      const refusal = request.url === '/api/v1/connect/ws' ? this.refusals.shift() : { status: 404 }
      if (refusal) {
        const headers = Object.entries({ connection: 'close', ...refusal.headers }).map(
          ([name, value]) => `${name}: ${value}\r\n`,
        )
        socket.end(`HTTP/1.1 ${refusal.status} No\r\n${headers.join('')}\r\n${refusal.body ?? ''}`)
        return
      }
      this.#webSockets.handleUpgrade(request, socket, head, webSocket => {
        const transport = new WebSocketTransport(webSocket, socket as Socket)
        const link = new Link(transport, {
          returnWithinMs: this.returnWithinMs,
          onRequest: channel => {
            if (channel.endpoint === 'executor')
              serveExecutor(channel.accept(), (name, input) => this.#answer(name, input))
            else channel.reject('unknown endpoint')
          },
        })
        transport.deliverTo(link)
        const certificate =
          socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.fingerprint256 : undefined
        const isResumed = socket instanceof TLSSocket && socket.isSessionReused()
        this.connections.push({ link, certificate, isResumed })
      })
    })
  }

  /** Starts a fake hub on a free port, with TLS if a certificate is given. */
  static async start(certificate?: DeviceCertificate): Promise<FakeHub> {
    const hub = new FakeHub(certificate)
    await new Promise<void>(resolve => hub.#server.listen(0, '127.0.0.1', resolve))
    return hub
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Link of the newest connection. */
  get link(): Link {
    return this.connections.at(-1)!.link
  }

  callsOf(name: string): FakeCall[] {
    return this.calls.filter(call => call.name === name)
  }

  /** Resets all connections, as if the hub had crashed. */
  crash(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.crash()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #answer(name: string, input: Uint8Array): string {
    const inputText = Buffer.from(input).toString()
    const call = { name, inputText, input: JSON.parse(inputText) as Record<string, unknown> }
    this.calls.push(call)
    const error = this.refuse(call)
    return error ? errorEnvelope(error.kind, error.message) : okEnvelopeOfJson(this.answers[name] ?? '{}')
  }
}
