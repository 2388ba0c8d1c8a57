import { encodeFrame } from '@muster/link'
import { HELLO, mutatedFrame, seededRandom } from '@muster/link/testing'
import type { WebSocket } from 'ws'
import { deviceHeaders, deviceIdentity, openWebSocket, socketOf } from './fake-device.ts'

/** Frames that leave in one turn, after which the hub must have taken them: those behind a fatal one would tell nothing. */
const FRAMES_A_TURN = 32
/** One write in so many is junk below the frames of WebSocket. */
const JUNK_EVERY = 2_000

type FuzzOptions = {
  url: string
  token: string
  seed: number
  /** Connections at once. */
  parallel: number
  /** No further frame is sent once this many were. */
  maxFrames: number
  /** Nor after this time, in milliseconds, once at least so many were. */
  maxMs: number
  minFrames?: number
}

/** Frames that the hub read on connections that were open after them, and how many connections that took. */
export type Fuzzed = { frames: number; connections: number }

/**
 * Sends mutated frames to a hub over real sockets, from devices that it knows. What is sent follows from the seed, when it arrives
 * does not. Each connection lives until the hub ends it.
 */
export async function fuzzHub(options: FuzzOptions): Promise<Fuzzed> {
  const { url, token, seed, parallel, maxFrames, maxMs, minFrames = 0 } = options
  const total: Fuzzed = { frames: 0, connections: 0 }
  const deadline = performance.now() + maxMs
  const isOver = (): boolean =>
    total.frames >= maxFrames || (total.frames >= minFrames && performance.now() > deadline)

  async function worker(index: number): Promise<void> {
    const random = seededRandom(seed + index)
    const identity = await deviceIdentity()
    while (!isOver()) {
      // A device's own connection now and then, one-shots otherwise, whose rows nobody keeps.
      const headers = deviceHeaders({ url, token, register: random(10) === 0 }, identity)
      const { webSocket } = await openWebSocket(url, headers)
      webSocket.on('error', () => {})
      total.connections++
      if (random(20) !== 0) webSocket.send(encodeFrame(HELLO))
      const isGentle = random(8) !== 0
      while (webSocket.readyState === webSocket.OPEN && !isOver()) {
        for (let n = 0; n < FRAMES_A_TURN; n++) webSocket.send(mutatedFrame(random, isGentle))
        const isJunk = random(JUNK_EVERY / FRAMES_A_TURN) === 0
        if (isJunk) socketOf(webSocket).write(Buffer.from([random(256), random(256)]))
        if (await hasTaken(webSocket)) total.frames += FRAMES_A_TURN
      }
      webSocket.terminate()
    }
  }
  await Promise.all(Array.from({ length: parallel }, (_, index) => worker(index)))
  return total
}

/** Whether a hub is still there once it has read everything so far: below frames, WebSocket has pings of its own. */
function hasTaken(webSocket: WebSocket): Promise<boolean> {
  return new Promise(resolve => {
    if (webSocket.readyState !== webSocket.OPEN) return resolve(false)
    webSocket.once('pong', () => resolve(webSocket.readyState === webSocket.OPEN))
    webSocket.once('close', () => resolve(false))
    webSocket.ping()
  })
}
