import type { JobContext } from '../../platform/jobs/define-job.ts'
import { renewSecrets } from './webhook-rows.ts'

/** Starts what a node does for readers outside: it numbers messages, wakes requests for feeds and delivers to webhooks. */
export async function startWebhooks(context: JobContext): Promise<AsyncDisposable> {
  const { db, log, dispatcher, feedWaits, deliverer, webhookParts } = context
  await renewSecrets(db, webhookParts.secretBox, log)
  await using stack = new AsyncDisposableStack()
  stack.defer(() => feedWaits.close())
  stack.use(deliverer)
  stack.use(dispatcher)
  dispatcher.onNumbered(positions => {
    feedWaits.advanced(positions)
    deliverer.wake()
  })
  deliverer.start()
  dispatcher.start()
  return stack.move()
}
