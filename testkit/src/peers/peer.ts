import { once } from 'node:events'
import type { Socket } from 'node:net'

/** Generations of published Nexigon clients (docs/protocol.md 0.1): November 2025 and August 2026. */
export type Age = '2025' | '2026'

/** End of a published client's connection. The client itself never sends Close (docs/protocol.md 2.8). */
export type PeerEnd = {
  /**
   * `Close`: the hub sent Close. `Bare`: the WebSocket closed without a Close frame, after which clients of 2025 hang. `Panic`:
   * the hub sent a frame that crashes this client.
   */
  how: 'Close' | 'Bare' | 'Panic'
  reason: string
}

/** A channel of a published client, as a stream of bytes. `Channel` of packages/link is assignable to this type. */
export type PeerChannel = {
  /** Next bytes, or null at the end of the data. */
  read(): Promise<Uint8Array | null>
  write(bytes: Uint8Array): Promise<void>
  /** Number of bytes written and not sent yet. */
  readonly queuedBytes: number
  /** Ends the data that the client sends on this channel (frame ChannelClosed, 0x17). */
  end(): void
  /** Closes the channel. The frames sent for this depend on the generation of the client (docs/protocol.md 2.7). */
  close(): void
}

/** A channel request of the hub. */
export type PeerRequest = { endpoint: string; accept(): PeerChannel; reject(reason: string): void }

/** The link of a published client of either generation (`Age`). */
export type Peer = AsyncDisposable & {
  /** Requests a channel from the hub. Rejects with `ChannelRejectedError` if the hub rejects the request. */
  open(endpoint: string): Promise<PeerChannel>
  ended: Promise<PeerEnd>
  /** Disconnects without Close, like every published client. */
  drop(): void
  /** Simulates the crash of the client that follows a frame which clients of its generation cannot handle. */
  panic(reason: string): void
}

/** Pipes bytes both ways between a channel and a socket. Resolves when both directions have ended (docs/protocol.md 3.3, 3.4). */
export async function pipe(channel: PeerChannel, socket: Socket): Promise<void> {
  socket.on('error', () => {})
  const toSocket = async (): Promise<void> => {
    for (let bytes = await channel.read(); bytes !== null; bytes = await channel.read())
      if (!socket.write(bytes) && !socket.destroyed)
        await Promise.race([once(socket, 'drain'), once(socket, 'close')])
    await new Promise<void>(resolve => socket.end(resolve))
  }
  const toChannel = async (): Promise<void> => {
    for await (const chunk of socket.iterator({ destroyOnReturn: false }))
      await channel.write(chunk as Buffer)
    channel.end()
  }
  // A reset by the socket's peer, or a hub that stops reading, ends both directions.
  await Promise.all([toSocket(), toChannel()]).then(
    async () => {
      // Waits for queued bytes, because dropping the channel would discard them.
      while (channel.queuedBytes > 0) await new Promise(resolve => setTimeout(resolve, 5))
    },
    () => {},
  )
  channel.close()
  socket.destroy()
}
