import type { JobContext } from '../../platform/jobs/define-job.ts'

/** Starts the dispatcher of a node, and wakes requests for feeds when it has numbered messages. */
export async function startWebhooks({ dispatcher, feedWaits }: JobContext): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  stack.defer(() => feedWaits.close())
  stack.use(dispatcher)
  dispatcher.onNumbered(positions => feedWaits.advanced(positions))
  dispatcher.start()
  return stack.move()
}
