import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { FirstPing } from '@muster/link/testing'
import { openWebSocket } from '../fake-device.ts'
import { type Age, type PeerEnd, type PeerRequest, pipe } from './peer.ts'
import { peer2025 } from './peer-2025.ts'
import { peer2026 } from './peer-2026.ts'
import { PeerRpc } from './peer-rpc.ts'

/** Simulation of the published Nexigon command-line client while one of its commands runs. */
export type PublicCommandLine = AsyncDisposable & {
  actor: Record<string, string>
  ended: Promise<PeerEnd>
  /** Runs an action as part of the command. */
  invoke(action: string, input: object): Promise<unknown>
  /** Runs `forward DEVICE LOCAL:REMOTE`: listens on a local port and forwards it to a port of a device (docs/protocol.md 3.4). */
  forward(
    deviceId: string,
    remotePort: number,
  ): Promise<
    {
      localPort: number
      /** Error messages about connections that could not be opened. */
      errors: string[]
    } & Disposable
  >
}

/**
 * Starts the simulation of the published command-line client of the given generation (`age`), with a user token (docs/protocol.md 7.2).
 * Rejects with `ConnectionRefused` if the hub refuses the connection.
 */
export async function publicCommandLine({
  age,
  url,
  userToken,
  firstPing,
}: {
  age: Age
  url: string
  userToken: string
  /** Order in which the client sends its first Ping and its first channel request. Used only if `age` is 2025. */
  firstPing?: FirstPing | undefined
}): Promise<PublicCommandLine> {
  const opened = await openWebSocket(url, {
    authorization: `Bearer ${userToken}`,
    'x-register-connection': 'true',
    'x-user-token': userToken,
  })
  // The real command-line clients reject channel requests of the hub with an empty reason. The hub never sends any to them.
  const rejectAll = (request: PeerRequest): void => request.reject('')
  const peer = age === '2025' ? peer2025(opened, rejectAll, firstPing) : peer2026(opened, rejectAll)
  const rpc = await PeerRpc.open(age, peer)
  const { actor } = (await rpc.invoke('actor_GetActor', {})) as { actor: Record<string, string> }
  if (actor.actor !== 'UserToken' || !actor.userId || !actor.tokenId) throw new Error('not a user token')
  return {
    actor,
    ended: peer.ended,
    invoke: (action, input) => rpc.invoke(action, input),
    async forward(deviceId, remotePort) {
      const errors: string[] = []
      const server = createServer({ allowHalfOpen: true }, socket => {
        socket.on('error', () => {})
        peer.open(`device/${deviceId}/proxy/forward/tcp/${remotePort}`).then(
          channel => pipe(channel, socket),
          (error: Error) => {
            errors.push(error.message)
            socket.destroy()
          },
        )
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port: localPort } = server.address() as AddressInfo
      return { localPort, errors, [Symbol.dispose]: () => void server.close() }
    },
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  }
}
