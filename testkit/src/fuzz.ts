import { encodeFrame } from '@muster/link'
import { HELLO, mutatedFrame, seededRandom } from '@muster/link/testing'
import type { WebSocket } from 'ws'
import { deviceHeaders, deviceIdentity, openWebSocket, socketOf } from './fake-device.ts'

/**
 * Number of frames sent together. The next batch is sent only after the hub has read this batch: the hub ends the connection at
 * a fatal frame and would not read the frames behind it.
 */
const FRAMES_PER_BATCH = 32
/** Average number of frames between two writes of junk bytes, which are not valid WebSocket frames. */
const JUNK_EVERY = 2_000

type FuzzOptions = {
  url: string
  token: string
  seed: number
  /** Number of simultaneous connections. */
  parallel: number
  /** Total number of frames to send. */
  maxFrames: number
  /** Limit of the run time in milliseconds, which applies once `minFrames` frames were sent. */
  maxMs: number
  minFrames?: number
}

/** `frames`: number of frames that the hub read without ending their connection. `connections`: number of connections opened. */
export type Fuzzed = { frames: number; connections: number }

/**
 * Sends mutated frames to a hub over real sockets, from devices that the hub knows. The seed determines the frames but not their
 * timing. Each connection is used until the hub closes it.
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
      // A tenth of the connections ask the hub to register them (`X-Register-Connection`). For all other connections the hub
      // writes no database rows.
      const headers = deviceHeaders({ url, token, register: random(10) === 0 }, identity)
      const { webSocket } = await openWebSocket(url, headers)
      webSocket.on('error', () => {})
      total.connections++
      if (random(20) !== 0) webSocket.send(encodeFrame(HELLO))
      const isGentle = random(8) !== 0
      while (webSocket.readyState === webSocket.OPEN && !isOver()) {
        for (let n = 0; n < FRAMES_PER_BATCH; n++) webSocket.send(mutatedFrame(random, isGentle))
        const isJunk = random(JUNK_EVERY / FRAMES_PER_BATCH) === 0
        if (isJunk) socketOf(webSocket).write(Buffer.from([random(256), random(256)]))
        if (await hasTaken(webSocket)) total.frames += FRAMES_PER_BATCH
      }
      webSocket.terminate()
    }
  }
  await Promise.all(Array.from({ length: parallel }, (_, index) => worker(index)))
  return total
}

/**
 * Waits until the hub has read everything sent so far: sends a WebSocket ping and waits for the pong. Resolves to false if the
 * connection was closed.
 */
function hasTaken(webSocket: WebSocket): Promise<boolean> {
  return new Promise(resolve => {
    if (webSocket.readyState !== webSocket.OPEN) return resolve(false)
    webSocket.once('pong', () => resolve(webSocket.readyState === webSocket.OPEN))
    webSocket.once('close', () => resolve(false))
    webSocket.ping()
  })
}
