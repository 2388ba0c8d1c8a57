import { handler } from '../../../platform/pipeline/handler.ts'
import { setFeed } from '../feed.ts'

/** Turns the feed of an organization on or off. After it was off, readers begin anew. */
export const events_SetFeed = handler(
  'events_SetFeed',
  async ({ tx, events, services, afterCommit }, { organizationId, isOn }) => {
    await setFeed(tx, organizationId, isOn)
    await events.emit('events_FeedChanged', { organizationId, isOn })
    afterCommit(() => services.dispatcher.readersChanged())
    return {}
  },
)
