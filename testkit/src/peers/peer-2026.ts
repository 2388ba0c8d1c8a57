import { decodeFrame, Link } from '@muster/link'
import { withoutMark } from '@muster/link/testing'
import type { WebSocket } from 'ws'
import type { Peer, PeerEnd, PeerRequest } from './peer.ts'

/** Limits of published agents of 2026 that differ from ours: 32 undecided channel requests of the hub (docs/protocol.md 2.10). */
const LIMITS = { maxPendingRequests: 32 }

/**
 * Simulates the link of a published Nexigon client of 2026 over a real WebSocket. It behaves like our link with two exceptions:
 * the client crashes on an Adjust of 0/0 and on a ChannelData frame without payload (docs/protocol.md 2.5).
 */
export function peer2026(
  { webSocket, early }: { webSocket: WebSocket; early: [Buffer, boolean][] },
  onRequest: (request: PeerRequest) => void = request => request.reject('unknown endpoint'),
): Peer {
  const ended = Promise.withResolvers<PeerEnd>()
  const panic = (reason: string): void => {
    ended.resolve({ how: 'Panic', reason })
    webSocket.terminate()
  }
  const link = new Link(
    {
      // The client never sends Close; it only closes the WebSocket (docs/protocol.md 2.8). Its Hello has no info.
      send: message =>
        message[0] !== 0xff &&
        webSocket.readyState === webSocket.OPEN &&
        webSocket.send(withoutMark(message)),
      get bufferedBytes() {
        return webSocket.bufferedAmount
      },
      close: () => webSocket.terminate(),
    },
    { onRequest, limits: LIMITS },
  )
  const receive = (data: Buffer, isBinary: boolean): void => {
    const flaw = isBinary ? flawOf(data) : undefined
    if (flaw !== undefined) panic(flaw)
    else if (isBinary) link.receive(data)
    else link.receiveText()
  }
  for (const [data, isBinary] of early) receive(data, isBinary)
  webSocket.on('message', receive)
  webSocket.on('error', () => {})
  webSocket.on('close', code => link.transportClosed(`closed with ${code}`))
  void link.ended.then(({ kind, reason }) => {
    if (kind === 'PeerClose') ended.resolve({ how: 'Close', reason })
    else ended.resolve({ how: kind === 'TransportClosed' ? 'Bare' : 'Panic', reason })
  })

  return {
    ended: ended.promise,
    drop: () => webSocket.terminate(),
    panic,
    open: endpoint => link.open(endpoint),
    async [Symbol.asyncDispose]() {
      webSocket.terminate()
      await ended.promise
    },
  }
}

/** Returns the reason why a frame crashes clients of 2026 but not our link. Returns undefined for all other frames. */
function flawOf(message: Buffer): string | undefined {
  const frame = decodeFrame(message)
  if (frame.type === 'ChannelAdjust' && frame.frameCredit === 0 && frame.byteCredit === 0)
    return 'an Adjust of 0/0'
  return frame.type === 'ChannelData' && frame.payload.length === 0 ? 'data without bytes' : undefined
}
