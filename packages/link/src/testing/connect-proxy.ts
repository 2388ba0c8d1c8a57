import { once } from 'node:events'
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** Answer of a proxy to CONNECT instead of a tunnel. It writes to the client as it likes. */
type ProxyFault = (client: Socket) => void

/** An HTTP proxy on a loopback port, for CONNECT and plain requests, that leads to local ports. */
export class ConnectProxy implements AsyncDisposable {
  /** Authorities that clients asked for, such as `hub.test:443`. */
  readonly targets: string[] = []
  /** Local ports by the authority that leads to them. The proxy answers 502 for any other. */
  readonly ports = new Map<string, number>()
  /** Credentials as `name:password` that clients have to send. */
  credentials: string | undefined
  /** Answers every CONNECT instead of a tunnel. */
  fault: ProxyFault | undefined
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer()

  private constructor() {
    this.#server.on('connection', (socket: Socket) => this.#keep(socket))
    this.#server.on('request', (request, response) => this.#forward(request, response))
    this.#server.on('connect', (request: IncomingMessage, client: Socket) => this.#answer(request, client))
  }

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy()
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  /** URL of the proxy, with its credentials. */
  get url(): string {
    const login = this.credentials === undefined ? '' : `${this.credentials}@`
    return `http://${login}127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #answer({ url = '', headers }: IncomingMessage, client: Socket): void {
    this.targets.push(url)
    const [, sent = ''] = headers['proxy-authorization']?.split(' ') ?? []
    const port = this.ports.get(url)
    if (this.fault) this.fault(client)
    else if (this.credentials !== undefined && atob(sent) !== this.credentials)
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\r\n')
    else if (port === undefined) client.end('HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n<html>')
    else {
      const target = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        client.pipe(target)
        target.pipe(client)
      })
      this.#keep(target)
      client.on('close', () => target.destroy())
      target.on('close', () => client.destroy())
    }
  }

  #forward({ url = '', method, headers }: IncomingMessage, response: ServerResponse): void {
    const { host, pathname } = new URL(url)
    this.targets.push(host)
    requestHttp(
      { port: this.ports.get(host), host: '127.0.0.1', path: pathname, method, headers },
      answer => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
      .on('error', () => response.destroy())
      .end()
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
  }
}
