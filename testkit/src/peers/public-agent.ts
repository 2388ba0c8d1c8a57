import { connect } from 'node:net'
import type { FirstPing } from '@muster/link/testing'
import {
  type DeviceIdentity,
  deviceHeaders,
  deviceIdentity,
  type FakeDeviceOptions,
  openWebSocket,
} from '../fake-device.ts'
import { type Age, type Peer, type PeerEnd, type PeerRequest, pipe } from './peer.ts'
import { peer2025 } from './peer-2025.ts'
import { peer2026 } from './peer-2026.ts'
import { PeerRpc } from './peer-rpc.ts'

type PublicAgentOptions = Pick<FakeDeviceOptions, 'url' | 'token' | 'identity' | 'tls'> & {
  age: Age
  /** Order of the first Ping and the first channel request. Used only for clients of 2025. */
  firstPing?: FirstPing | undefined
}

/** Simulation of a published Nexigon agent that runs as a service, with its one-shot commands. */
export type PublicAgent = AsyncDisposable & {
  deviceId: string
  identity: DeviceIdentity
  ended: Promise<PeerEnd>
  /**
   * Answers to the actions that the agent runs at its start. Agents of both generations set a property with the system
   * information. Agents of 2026 also set a property with their commands and ask the hub for commands to run.
   */
  started: Promise<unknown[]>
  /** Runs one action as a one-shot command does (docs/protocol.md 3.8). */
  oneShot(action: string, input: object): Promise<unknown>
  /** Runs several actions as a one-shot command. The device's id is added to each input. */
  command<T>(work: (run: (action: string, input: object) => Promise<unknown>) => Promise<T>): Promise<T>
  /** Resets the TCP connection without a WebSocket Close, as when the agent's process is killed. */
  drop(): void
}

const FORWARD = /^forward\/tcp\/(\d{1,5})$/

const SYSTEM_INFO = {
  name: 'Debian GNU/Linux',
  version: 'Linux (Debian GNU/Linux 12)',
  kernel: 'Linux 6.1.0',
  hostname: 'dev-1',
  arch: 'x86_64',
  memory: { total: 8_232_652_800 },
  networks: [{ name: 'eth0', macAddress: '02:42:ac:11:00:02', ipAddresses: ['172.17.0.2/16'] }],
  disks: [
    {
      name: '/dev/vda1',
      filesystem: 'ext4',
      mountPoint: '/',
      totalSpace: 63_278_391_296,
      availableSpace: 41_278_391_296,
    },
  ],
}

/** Properties that a published agent of each generation sets when it starts (docs/protocol.md 4.2, 4.3). */
const STARTUP: Record<Age, { name: string; value: unknown }[]> = {
  '2025': [{ name: 'dev.nexigon.systemInfo', value: SYSTEM_INFO }],
  '2026': [
    {
      name: 'dev.nexigon.system.info',
      value: {
        ...SYSTEM_INFO,
        exports: [{ protocol: 'http', name: 'web', port: 8080, path: '/ui' }],
        agent: { version: 'unknown', config: { terminal: { enabled: false }, commands: { enabled: true } } },
      },
    },
    {
      name: 'dev.nexigon.commands',
      value: { commands: [{ name: 'nexigon.ota.check', category: 'system' }] },
    },
  ],
}

/**
 * Starts the simulation of a published Nexigon agent: connects, queries the actor, and publishes properties (docs/protocol.md 3.7).
 * Rejects with `ConnectionRefused` if the hub refuses the connection. A real agent would exit, and systemd would restart it.
 */
export async function publicAgent(options: PublicAgentOptions): Promise<PublicAgent> {
  const { age } = options
  const identity = options.identity ?? (await deviceIdentity())
  const peer = await connectAgent({ ...options, identity }, true, request => forward(age, peer, request))
  const rpc = await PeerRpc.open(age, peer)
  const deviceId = await deviceIdOf(rpc)

  async function start(): Promise<unknown[]> {
    const set = (on: PeerRpc, index: number): Promise<unknown> =>
      on.invoke('devices_SetProperty', { deviceId, ...STARTUP[age][index] })
    // Agents of 2025 keep one executor channel. Agents of 2026 open two more, for telemetry and for work, and close the first.
    if (age === '2025') return [await set(rpc, 0)]
    const telemetry = await PeerRpc.open(age, peer)
    const work = await PeerRpc.open(age, peer)
    const answers = await Promise.all([
      set(telemetry, 0),
      set(rpc, 1),
      work.invoke('devices_ClaimOperationWork', { deviceId, limit: 1, kinds: ['DeviceCommand'] }),
    ])
    rpc.close()
    return answers
  }

  const command: PublicAgent['command'] = async work => {
    const own = age === '2025' ? await connectAgent({ ...options, identity }, false) : undefined
    const session = await PeerRpc.open(age, own ?? peer)
    try {
      const id = await deviceIdOf(session)
      return await work((action, input) => session.invoke(action, { deviceId: id, ...input }))
    } finally {
      // A one-shot process of 2025 exits without closing anything. A one-shot command of 2026 uses the running agent's link and
      // closes only its own channel.
      if (own) own.drop()
      else session.close()
    }
  }

  const started = start()
  // `started` rejects if the agent is dropped before the hub has answered. A test that does not read `started` must not fail by
  // an unhandled rejection.
  started.catch(() => {})
  return {
    deviceId,
    identity,
    ended: peer.ended,
    started,
    oneShot: (action, input) => command(run => run(action, input)),
    command,
    drop: peer.drop,
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  }
}

async function connectAgent(
  { age, url, token, tls, identity, firstPing }: PublicAgentOptions & { identity: DeviceIdentity },
  register: boolean,
  onRequest?: (request: PeerRequest) => void,
): Promise<Peer> {
  const headers = { ...(url.startsWith('https:') && { 'x-client-cert': undefined }) }
  const opened = await openWebSocket(url, deviceHeaders({ url, token, register, headers }, identity), tls)
  return age === '2025' ? peer2025(opened, onRequest, firstPing) : peer2026(opened, onRequest)
}

async function deviceIdOf(rpc: PeerRpc): Promise<string> {
  const { actor } = (await rpc.invoke('actor_GetActor', {})) as { actor: Record<string, string> }
  if (actor.actor !== 'Device' || !actor.deviceId || !actor.tokenId) throw new Error('not a device')
  return actor.deviceId
}

/** Handles a TCP forward. Agents of 2025 accept before they connect, agents of 2026 connect first (docs/protocol.md 3.3). */
function forward(age: Age, peer: Peer, request: PeerRequest): void {
  const port = Number(FORWARD.exec(request.endpoint)?.[1])
  if (!(port <= 65_535)) {
    if (age === '2025') peer.panic(`cannot handle endpoint ${request.endpoint}`)
    else
      request.reject(
        request.endpoint.startsWith('forward/') ? 'invalid TCP forwarding endpoint' : 'unknown endpoint',
      )
    return
  }
  const accepted = age === '2025' ? request.accept() : undefined
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.once('error', () => {
    if (accepted) accepted.close()
    else request.reject('local TCP forwarding target is unavailable')
  })
  socket.once('connect', () => void pipe(accepted ?? request.accept(), socket))
}
