import { once } from 'node:events'
import type { Socket } from 'node:net'

/** The ages of public clients (protocol 0.1): as of November 2025, called S there, and as of August 2026, called H. */
export type Age = '2025' | '2026'

/** How a public client saw its connection end; it says nothing itself (protocol 2.8). */
export type PeerEnd = {
  /** `Close`: the hub said so; `Bare`: the WebSocket ended without, over which the older age hangs; `Panic`: what kills this age. */
  how: 'Close' | 'Bare' | 'Panic'
  reason: string
}

/** One channel as a public client holds it: a stream of bytes. A `Channel` of a link is one. */
export type PeerChannel = {
  /** Bytes, or null at the end of data. */
  read(): Promise<Uint8Array | null>
  write(bytes: Uint8Array): Promise<void>
  /** Written and not yet sent. */
  readonly queuedBytes: number
  /** Shuts the own data down (0x17). */
  end(): void
  /** Drops the channel, of which each age tells the hub in its own way (protocol 2.7). */
  close(): void
}

/** A channel that the hub wants. */
export type PeerRequest = { endpoint: string; accept(): PeerChannel; reject(reason: string): void }

/** The link of a public client, whatever its age. */
export type Peer = AsyncDisposable & {
  /** Asks the hub for a channel; rejects with `ChannelRejectedError`. */
  open(endpoint: string): Promise<PeerChannel>
  ended: Promise<PeerEnd>
  /** Ends like every public client does: without a word. */
  drop(): void
  /** Kills the client, as what it cannot bear does. */
  panic(reason: string): void
}

/** Carries bytes both ways between a channel and a socket; ends when both directions are over (protocol 3.3, 3.4). */
export async function splice(channel: PeerChannel, socket: Socket): Promise<void> {
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
  // A service that resets, and a hub that reads no more, end everything.
  await Promise.all([toSocket(), toChannel()]).then(
    async () => {
      // Dropping a channel drops what still waits for credit.
      while (channel.queuedBytes > 0) await new Promise(resolve => setTimeout(resolve, 5))
    },
    () => {},
  )
  channel.close()
  socket.destroy()
}
