import { request } from 'node:http'
import type { Socket } from 'node:net'

/** Response to the upgrade request of a device. */
export type UpgradeAnswer = {
  status: number
  /** Error body of a refusal. */
  body: { kind: string; message: string } | undefined
  retryAfterSecs: number | undefined
  /** Socket of a successful upgrade. No frames have been sent on it. */
  socket: Socket | undefined
}

/**
 * Requests a WebSocket upgrade with these headers and sends no frames, which is much cheaper than connecting a `FakeDevice`. The
 * caller has to close the socket.
 */
export function askUpgrade(url: string, headers: Record<string, string>): Promise<UpgradeAnswer> {
  return new Promise((done, failed) => {
    const asked = request(`${url}/api/v1/connect/ws`, {
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...headers,
      },
    })
    asked.once('error', failed)
    asked.once('upgrade', (_response, socket: Socket) => {
      socket.on('error', () => {})
      // Reads and discards the hub's data. Otherwise Node would not report the end of the socket.
      socket.resume()
      done({ status: 101, body: undefined, retryAfterSecs: undefined, socket })
    })
    asked.once('response', response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('end', () => {
        const retryAfter = response.headers['retry-after']
        done({
          status: response.statusCode ?? 0,
          body: JSON.parse(Buffer.concat(chunks).toString()) as UpgradeAnswer['body'],
          retryAfterSecs: retryAfter === undefined ? undefined : Number(retryAfter),
          socket: undefined,
        })
      })
    })
    asked.end()
  })
}
