import 'reflect-metadata'
import { createHash, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { BASE58, encodeRadix } from '@muster/actions'
import { ExecutorClient, Link, type LinkOptions } from '@muster/link'
import { proveRenewal } from '@muster/link/certificate-renewal'
import { X509CertificateGenerator } from '@peculiar/x509'
import { WebSocket } from 'ws'

/** Fingerprint and certificate by which the hub recognizes a device. */
export type DeviceIdentity = {
  fingerprint: string
  certificatePem: string
  /** Private key of the certificate, for TLS. */
  keyPem?: string
}

export type FakeDeviceOptions = {
  url: string
  token: string
  identity?: DeviceIdentity
  /** Whether the hub registers the connection, which makes the device "connected". True by default. One-shot commands use false. */
  register?: boolean
  /** Headers that replace the default headers of an agent. The value `undefined` removes a header. */
  headers?: Record<string, string | undefined>
  link?: LinkOptions
  /** Certificate and key for TLS, if the hub uses TLS. */
  tls?: TlsCredentials
}

/** TLS settings of a device. The TLS session of an earlier connection avoids the full handshake. */
export type TlsCredentials = { cert?: string; key?: string; session?: Buffer }

export type FakeDevice = AsyncDisposable & {
  deviceId: string
  identity: DeviceIdentity
  link: Link
  webSocket: WebSocket
  /** Runs an action over the device's executor channel (docs/protocol.md 3.2). */
  invoke(name: string, input: unknown): Promise<unknown>
}

/** Error for an upgrade that the hub refused with an HTTP status. */
export class ConnectionRefused extends Error {
  override readonly name = 'ConnectionRefused'
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`refused with ${status}: ${body}`)
    this.status = status
    this.body = body
  }
}

/** Creates an identity with a self-signed P-256 certificate like that of the published Nexigon agent. */
export async function deviceIdentity(notAfter = new Date('4096-01-01T00:00:00Z')): Promise<DeviceIdentity> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=rcgen self signed cert',
    keys: keys as never,
    signingAlgorithm: algorithm,
    notBefore: new Date('1975-01-01T00:00:00Z'),
    notAfter,
  })
  const digest = createHash('sha512-256').update(randomBytes(32)).digest()
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return {
    fingerprint: `d_sk_${encodeRadix(digest, BASE58)}`,
    certificatePem: certificate.toString('pem'),
    keyPem: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
  }
}

/** Input of `devices_AddCertificate` with which a device announces the certificate of another identity as its next one. */
export function renewalInput(deviceId: string, current: DeviceIdentity, next: DeviceIdentity) {
  const pairOf = ({ certificatePem, keyPem = '' }: DeviceIdentity) => ({ certificatePem, keyPem })
  const { fingerprint256: fingerprint } = new X509Certificate(next.certificatePem)
  return { deviceId, fingerprint, renewal: proveRenewal(deviceId, pairOf(current), pairOf(next)) }
}

/** Request headers of a device, as sent by an agent. */
export function deviceHeaders(
  { token, register, headers }: FakeDeviceOptions,
  identity: DeviceIdentity,
): Record<string, string> {
  const all: Record<string, string | undefined> = {
    authorization: `Bearer ${token}`,
    'x-deployment-token': token,
    'x-register-connection': String(register ?? true),
    'x-device-fingerprint': identity.fingerprint,
    'x-client-cert': encodeURIComponent(identity.certificatePem),
    ...headers,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
}

/** Opens a WebSocket to the hub's gateway. Rejects with `ConnectionRefused` if the hub responds with an HTTP error. */
export async function openWebSocket(
  url: string,
  headers: Record<string, string>,
  tls: TlsCredentials = {},
): Promise<{ webSocket: WebSocket; early: [Buffer, boolean][] }> {
  const webSocket = new WebSocket(`${url.replace(/^http/, 'ws')}/api/v1/connect/ws`, {
    headers,
    perMessageDeflate: false,
    // The hub's certificate in tests is self-signed.
    rejectUnauthorized: false,
    ...tls,
  })
  // Stores messages that the hub sends right after the upgrade, before a listener is attached.
  const early: [Buffer, boolean][] = []
  const keep = (data: Buffer, isBinary: boolean): number => early.push([data, isBinary])
  webSocket.on('message', keep)
  await hasOpened(webSocket)
  webSocket.off('message', keep)
  return { webSocket, early }
}

/** Connects a device over a real socket, like an agent over plain HTTP. Rejects with `ConnectionRefused`. */
export async function connectDevice(options: FakeDeviceOptions): Promise<FakeDevice> {
  const identity = options.identity ?? (await deviceIdentity())
  const opened = await openWebSocket(options.url, deviceHeaders(options, identity), options.tls)
  const { webSocket } = opened
  const link = linkOver(opened, options.link)
  const executor = new ExecutorClient(await link.open('executor'))
  const { actor } = (await executor.invoke('actor_GetActor', {})) as { actor: { deviceId: string } }
  return {
    deviceId: actor.deviceId,
    identity,
    link,
    webSocket,
    invoke: (name, input) => executor.invoke(name, input),
    async [Symbol.asyncDispose]() {
      if (webSocket.readyState === webSocket.CLOSED) return
      const closed = once(webSocket, 'close')
      webSocket.terminate()
      await closed
    },
  }
}

/**
 * The same device, whose calls take the pipeline and not the lane of telemetry: their inputs have a member that no schema knows, which the
 * pipeline ignores.
 */
export function overPipeline(device: FakeDevice): FakeDevice {
  return { ...device, invoke: (name, input) => device.invoke(name, { ...(input as object), unknown: true }) }
}

/** Opens a link like the command-line client, with a user token and without a device. Rejects with `ConnectionRefused`. */
export async function connectPerson(url: string, userToken: string): Promise<Link & AsyncDisposable> {
  const opened = await openWebSocket(url, {
    authorization: `Bearer ${userToken}`,
    'x-user-token': userToken,
    'x-register-connection': 'true',
  })
  const dispose = async (): Promise<void> => opened.webSocket.terminate()
  return Object.assign(linkOver(opened), { [Symbol.asyncDispose]: dispose })
}

/** The socket below a WebSocket, for tests of the raw connection. */
export function socketOf(webSocket: WebSocket): Socket {
  return (webSocket as unknown as { _socket: Socket })._socket
}

/** Makes the link on an open WebSocket. */
function linkOver(
  { webSocket, early }: Awaited<ReturnType<typeof openWebSocket>>,
  options?: LinkOptions,
): Link {
  const link = new Link(
    {
      // The callback of `webSocket.send` runs when the message has left the WebSocket's buffer. drained() then sends queued frames.
      send: message => webSocket.send(message, () => link.drained()),
      get bufferedBytes() {
        return webSocket.bufferedAmount
      },
      close: abort => (abort ? webSocket.terminate() : webSocket.close()),
    },
    options,
  )
  const receive = (data: Buffer, isBinary: boolean): void =>
    isBinary ? link.receive(data) : link.receiveText()
  for (const [data, isBinary] of early) receive(data, isBinary)
  webSocket.on('message', receive)
  webSocket.on('error', () => {})
  webSocket.on('close', code => link.transportClosed(`closed with ${code}`))
  return link
}

function hasOpened(webSocket: WebSocket): Promise<void> {
  return new Promise((done, failed) => {
    webSocket.once('open', done)
    webSocket.once('error', failed)
    webSocket.once('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        failed(new ConnectionRefused(response.statusCode ?? 0, Buffer.concat(chunks).toString())),
      )
    })
  })
}
