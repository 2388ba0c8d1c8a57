import type { LiveChange } from '@muster/actions'
import type { TestHub, TestUser } from './test-hub.ts'

/** The live updates that the hub has sent to a person. */
export type LiveStream = AsyncDisposable & {
  changes: LiveChange[]
  /** Resolves when the hub has ended the stream. */
  ended: Promise<void>
  isOpen: boolean
}

/** Opens the live stream of a person like the console. Resolves after the hub's first event. */
export async function liveStream(
  hub: Pick<TestHub, 'url'>,
  { cookie }: Pick<TestUser, 'cookie'>,
): Promise<LiveStream> {
  const stop = new AbortController()
  const response = await fetch(`${hub.url}/api/v1/live`, { headers: { cookie }, signal: stop.signal })
  if (!response.ok || !response.body) throw new Error(`the live stream answered ${response.status}`)
  const changes: LiveChange[] = []
  const started = Promise.withResolvers<void>()
  const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    let text = ''
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const messages = text.split('\n\n')
      text = messages.pop()!
      for (const message of messages) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? []
        if (event === 'changes') changes.push(...(JSON.parse(data!) as LiveChange[]))
        started.resolve()
      }
    }
  }
  const stream = { changes, isOpen: true }
  const ended = read(response.body)
    .catch(() => {})
    .finally(() => (stream.isOpen = false))
  await started.promise
  return Object.assign(stream, {
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  })
}
