import {
  type Channel,
  type ChannelRequest,
  decodeFrame,
  ExecutorClient,
  encodeFrame,
  Link,
  MAGIC,
  okEnvelope,
  serveExecutor,
} from '../src/index.ts'
import { connectedLinks } from '../src/testing/index.ts'

function report(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(44)} ${value}\n`)
}

function perSecond(count: number, ms: number): string {
  return `${Math.round((count / ms) * 1000).toLocaleString('en')}/s`
}

/**
 * Runs `body` repeatedly for 1 s after a warm-up of 300 ms; returns the number of runs and the elapsed milliseconds.
 */
function measure(body: () => void): { count: number; ms: number } {
  const warmUntil = performance.now() + 300
  while (performance.now() < warmUntil) body()
  let count = 0
  const start = performance.now()
  let now = start
  while (now - start < 1000) {
    for (let i = 0; i < 100; i++) body()
    count += 100
    now = performance.now()
  }
  return { count, ms: now - start }
}

async function openPair(): Promise<{ near: Channel; far: Channel; flush: () => void }> {
  let far: Channel | undefined
  const pair = connectedLinks({
    isManual: true,
    b: {
      onRequest: request => {
        far = request.accept()
      },
    },
  })
  const opening = pair.a.open('bench')
  pair.transports.flush()
  const near = await opening
  return { near, far: far!, flush: pair.transports.flush }
}

function codec(): void {
  const frame = encodeFrame({ type: 'ChannelData', receiverId: 7, payload: new Uint8Array(256) })
  let total = 0
  const decoded = measure(() => {
    total += decodeFrame(frame).type.length
  })
  report('decodeFrame, 256-byte data', perSecond(decoded.count, decoded.ms))
  if (total === 0) throw new Error('nothing decoded')
}

async function dataFrames(size: number): Promise<void> {
  const { near, far, flush } = await openPair()
  let received = 0
  far.onReadable = () => {
    for (let piece = far.tryRead(); piece; piece = far.tryRead()) received += piece.length
  }
  const payload = new Uint8Array(size)
  const result = measure(() => {
    for (let i = 0; i < 10; i++) near.tryWrite(payload)
    flush()
  })
  report(
    `frames of ${size} bytes, written, carried and read`,
    `${perSecond(result.count * 10, result.ms)}, ${((result.count * 10 * size) / result.ms / 1000).toFixed(0)} MB/s`,
  )
  if (received === 0) throw new Error('nothing arrived')
}

async function bulk(): Promise<void> {
  const { near, far, flush } = await openPair()
  let received = 0
  far.onReadable = () => {
    for (let piece = far.tryRead(); piece; piece = far.tryRead()) received += piece.length
  }
  const payload = new Uint8Array(256 * 1024)
  const result = measure(() => {
    near.tryWrite(payload)
    flush()
  })
  report('bulk, 256-KiB writes', `${((result.count * payload.length) / result.ms / 1000).toFixed(0)} MB/s`)
  if (received === 0) throw new Error('nothing arrived')
}

async function rpc(inputBytes: number, callers: number): Promise<void> {
  const pair = connectedLinks({
    isManual: true,
    b: {
      onRequest: request =>
        serveExecutor(request.accept(), (_name, input) => okEnvelope({ size: input.length })),
    },
  })
  const clients: ExecutorClient[] = []
  for (let i = 0; i < callers; i++) {
    const opening = pair.a.open('executor')
    pair.transports.flush()
    clients.push(new ExecutorClient(await opening))
  }
  const input = { events: 'x'.repeat(inputBytes) }
  let done = 0
  const run = async (ms: number): Promise<void> => {
    const until = performance.now() + ms
    const loop = async (client: ExecutorClient): Promise<void> => {
      while (performance.now() < until) {
        let isDone = false
        const answer = client.invoke('devices_PublishEvents', input).then(() => {
          isDone = true
        })
        pair.transports.flush()
        await Promise.resolve()
        // The server yields to the event loop after 64 requests, so flush until its answers are complete.
        while (!isDone) {
          await new Promise(resolve => setImmediate(resolve))
          pair.transports.flush()
          await Promise.resolve()
        }
        await answer
        done++
      }
    }
    await Promise.all(clients.map(loop))
  }
  await run(300)
  done = 0
  const start = performance.now()
  await run(1000)
  report(
    `echo RPC, ${inputBytes}-byte input, ${callers} channels`,
    perSecond(done, performance.now() - start),
  )
}

async function idleMemory(channels: number): Promise<void> {
  const count = 10_000
  const gc = (globalThis as { gc?: () => void }).gc
  if (gc === undefined) return report('idle memory', 'run node with --expose-gc')
  const sink = { bufferedBytes: 0, send: () => {}, close: () => {} }
  const hello = encodeFrame({
    type: 'Hello',
    magic: MAGIC,
    info: new Uint8Array(0),
  })
  const options = {
    onRequest: (request: ChannelRequest) => void serveExecutor(request.accept(), () => ''),
  }
  const request = encodeFrame({
    type: 'ChannelRequest',
    senderId: 1,
    frameCredit: 128,
    byteCredit: 16384,
    endpoint: Buffer.from('executor'),
  })
  const links: Link[] = []
  const build = (): void => {
    const link = new Link(sink, options)
    link.receive(hello)
    for (let i = 0; i < channels; i++) link.receive(request)
    links.push(link)
  }
  build()
  gc()
  await new Promise(resolve => setTimeout(resolve, 10))
  gc()
  const before = process.memoryUsage()
  for (let i = 0; i < count; i++) build()
  gc()
  await new Promise(resolve => setTimeout(resolve, 10))
  gc()
  const after = process.memoryUsage()
  report(
    `idle link with ${channels} executor channels`,
    `${Math.round((after.heapUsed + after.external - before.heapUsed - before.external) / count)} bytes`,
  )
  for (const link of links) link.close()
}

codec()
await dataFrames(16)
await dataFrames(256)
await dataFrames(4096)
await bulk()
await rpc(20, 1)
await rpc(6000, 1)
await rpc(6000, 16)
await idleMemory(0)
await idleMemory(1)
await idleMemory(2)
