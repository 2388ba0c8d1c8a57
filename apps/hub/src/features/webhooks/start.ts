import type { JobContext } from '../../platform/jobs/define-job.ts'
import { renewSecrets } from './webhook-rows.ts'

/** Starts what a node does for readers outside: it numbers messages, wakes requests for feeds and delivers to webhooks. */
export async function startWebhooks(context: JobContext): Promise<AsyncDisposable> {
  const { db, log, dispatcher, exporter, feedWaits, deliverer, webhookParts } = context
  await renewSecrets(db, webhookParts.secretBox, log)
  await using stack = new AsyncDisposableStack()
  stack.defer(() => feedWaits.close())
  stack.use(deliverer)
  stack.use(dispatcher)
  stack.use(exporter)
  dispatcher.onNumbered(positions => {
    feedWaits.advanced(positions)
    deliverer.wake()
  })
  deliverer.start()
  dispatcher.start()
  // Before devices connect, so that none of their events is missed.
  await exporter.start(() => deliverer.wake())
  return stack.move()
}
