import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ChannelRequest } from '@muster/link'
import { forwardPort } from '../forward.ts'
import { ChannelStream } from './channel-stream.ts'
import type { DeviceProfile } from './device-profile.ts'
import { healthAt } from './story.ts'

const PORT = 80

/** Web page that every simulated device serves on port 80, without a real socket. */
export class StatusPages {
  readonly #profiles = new WeakMap<Duplex, DeviceProfile>()
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  /** Handles a channel request of the hub for one device; never throws. */
  handle(request: ChannelRequest, profile: DeviceProfile): void {
    const port = forwardPort(request.endpoint)
    if (typeof port === 'string') request.reject(port)
    else if (port !== PORT) request.reject('local TCP forwarding target is unavailable')
    else this.#serve(new ChannelStream(request.accept()), profile)
  }

  #serve(stream: ChannelStream, profile: DeviceProfile): void {
    this.#profiles.set(stream, profile)
    this.#server.emit('connection', stream)
  }

  #answer({ method, socket }: IncomingMessage, response: ServerResponse): void {
    const profile = this.#profiles.get(socket)
    if (!profile || (method !== 'GET' && method !== 'HEAD')) {
      response.writeHead(405).end()
      return
    }
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    response.end(pageOf(profile, new Date()))
  }
}

function pageOf(profile: DeviceProfile, now: Date): string {
  const { hostname, hardware, serial, site, firmware } = profile
  const rows = {
    Model: hardware.model,
    Serial: serial,
    Site: site,
    Firmware: firmware,
    Health: healthAt(profile, now.getTime()),
    'Local time': now.toISOString(),
  }
  const cells = Object.entries(rows).map(([name, value]) => `<tr><th scope="row">${name}<td>${value}`)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${hostname}</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
  table { border-collapse: collapse; width: 100% }
  th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8886; font-weight: inherit }
</style>
<h1>${hostname}</h1>
<table>${cells.join('')}</table>
<p>This page is served by the simulated device itself, through its hub.</p>
</html>
`
}
