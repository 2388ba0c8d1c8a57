import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request that a receiver got. */
export type Received = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** Time of the request on the monotonic clock, in milliseconds. */
  atMs: number
}

/** A receiver of webhooks on this machine. */
export type Receiver = AsyncDisposable & {
  url: string
  requests: Received[]
  /** Ids of messages in the order of their first arrival. */
  ids(): string[]
  /** Answers the next requests. The default answers 204. */
  answer: (request: Received, response: ServerResponse) => void | Promise<void>
}

/** Starts a receiver. */
export async function receiver(): Promise<Receiver> {
  const requests: Received[] = []
  const made: Pick<Receiver, 'answer'> = { answer: (_, response) => void response.writeHead(204).end() }
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on('error', () => {})
    const body = await text(request).catch(() => '')
    const { method = '', url: path = '', headers } = request
    const received = { method, path, headers, body, atMs: performance.now() }
    requests.push(received)
    await receiving.answer(received, response)
  }
  const server = createServer((request, response) => void receive(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiving: Receiver = {
    ...made,
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    ids: () => [...new Set(requests.map(({ headers }) => String(headers['webhook-id'])))],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
  return receiving
}
