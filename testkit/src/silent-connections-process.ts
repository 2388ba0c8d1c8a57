// Forked by `silent-connections.ts`: opens connections, sends Hello on each, and never answers.
import { encodeFrame } from '@muster/link'
import { HELLO } from '@muster/link/testing'
import { openWebSocket } from './fake-device.ts'

/** Connections that the forked process has to open. */
export type SilentOrder = { url: string; headers: Record<string, string>; count: number }
/** Progress that the process sends to its parent every `TELL_MS` milliseconds. */
export type SilentState = { closed: number; failure?: string }

const PARALLEL = 64
const TELL_MS = 100

let closed = 0
let failure: string | undefined

process.once('message', ({ url, headers, count }: SilentOrder) => {
  let opened = 0
  const open = async (): Promise<void> => {
    while (opened < count) {
      opened++
      const { webSocket } = await openWebSocket(url, headers)
      webSocket.on('error', () => {})
      webSocket.on('close', () => closed++)
      webSocket.send(encodeFrame(HELLO))
    }
  }
  Promise.all(Array.from({ length: PARALLEL }, open)).catch(error => {
    failure = String(error)
  })
  setInterval(() => {
    process.send!({ closed, ...(failure !== undefined && { failure }) } satisfies SilentState)
  }, TELL_MS)
})
process.once('disconnect', () => process.exit())
