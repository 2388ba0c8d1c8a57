import { Agent, type IncomingMessage, type RequestOptions, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type Channel, type ChannelRequest, pipeSocket } from '@muster/link'
import { connectDevice, type FakeDevice } from './fake-device.ts'
import type { TestHub, TestUser } from './test-hub.ts'
import { until } from './until.ts'

/** A web server on a device, with the host name and the cookie that give a browser access to it. */
export type DevicePage = AsyncDisposable & {
  device: FakeDevice
  owner: TestUser
  /** Host name of the device's page. `cookie` grants access to it. */
  host: string
  cookie: string
  /**
   * Requests the device's page through the hub on a keep-alive connection. Resolves when the status and the headers of the
   * response have arrived. `body` sends the request body and ends the request.
   */
  ask(
    path: string,
    options?: RequestOptions,
    body?: (outgoing: ReturnType<typeof request>) => void,
  ): Promise<IncomingMessage>
}

/** Connects a device that forwards to a server in this process, and obtains access to that server's page. */
export async function devicePage(hub: TestHub, server: Pick<Server, 'address'>): Promise<DevicePage> {
  const { owner, token } = await hub.fleet()
  const device = await connectDevice({ url: hub.url, token, link: { onRequest: forwardLocally } })
  await until('the hub knows it', () => hub.devices.get(device.deviceId) !== undefined)
  const { port } = server.address() as AddressInfo
  const { url, jwt } = await owner.invoke('devices_IssueHttpProxyToken', { deviceId: device.deviceId, port })
  const { host } = new URL(url)
  const cookie = `muster-device=${jwt}`
  const agent = new Agent({ keepAlive: true })
  return {
    device,
    owner,
    host,
    cookie,
    ask(path, options = {}, body = outgoing => outgoing.end()) {
      const headers = { host, cookie, ...options.headers }
      const outgoing = request({
        agent,
        host: '127.0.0.1',
        port: hub.address.port,
        path,
        ...options,
        headers,
      })
      body(outgoing)
      return new Promise((done, failed) => {
        outgoing.once('response', done)
        outgoing.once('error', failed)
      })
    },
    async [Symbol.asyncDispose]() {
      agent.destroy()
      await device[Symbol.asyncDispose]()
    },
  }
}

/**
 * Handles a TCP forward like an agent: connects to the requested port on this machine, or rejects the channel. Each direction
 * ends independently and has backpressure.
 */
export function forwardLocally(wish: ChannelRequest): void {
  const target = Number(/^forward\/tcp\/(\d+)$/.exec(wish.endpoint)?.[1])
  const socket = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
  socket.once('error', () => wish.reject('local TCP forwarding target is unavailable'))
  socket.once('connect', () => void pipeSocket(wish.accept(), socket))
}

/**
 * Reads a forwarded connection until its end, and drops its data. Resolves to `error` where `muster forward` resets the connection of its
 * local client, and to `end` where that client gets a regular end of the data.
 */
export function forwardEnd(channel: Channel): Promise<'end' | 'error'> {
  const { promise, resolve } = Promise.withResolvers<'end' | 'error'>()
  const pump = (): void => {
    let bytes = channel.tryRead()
    while (bytes) bytes = channel.tryRead()
    if (bytes === null) resolve(channel.isTruncated ? 'error' : 'end')
    else if (channel.hasPeerStopped) resolve('error')
  }
  channel.onReadable = pump
  channel.onPeerStopped = pump
  pump()
  return promise
}
