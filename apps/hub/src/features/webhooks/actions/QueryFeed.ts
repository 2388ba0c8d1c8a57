import { refusal } from '../../../platform/access/authorize.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { cursorOf, positionOf, readFeed, readPart } from '../feed.ts'

const LIMIT = 100

/** Answers the events after a cursor. Without any, it waits for the next one; the wait holds no connection of the database. */
export const events_Query = handler(
  'events_Query',
  async (
    { db, caller, services, signal },
    { after, from = 'Oldest', limit = LIMIT, waitSecs = 0, ...query },
  ) => {
    const { organizationId, projectId } = query
    if (projectId !== undefined) {
      const project = await db
        .selectFrom('project')
        .where('project_id', '=', projectId)
        .where('organization_id', '=', organizationId)
        .select('project_id')
        .executeTakeFirst()
      if (!project) throw refusal()
    }
    const { feedWaits } = services
    const feed = await readFeed(db, organizationId)
    let position = positionOf(after, from, feed)
    const untilMs = performance.now() + waitSecs * 1000
    const permit = waitSecs === 0 ? undefined : await feedWaits.enter(personOf(caller)?.userId ?? '')
    try {
      for (;;) {
        const part = await readPart(db, { ...query, limit }, position)
        ;({ position } = part)
        const leftMs = untilMs - performance.now()
        const mustAnswer = part.events.length > 0 || leftMs <= 0 || signal.aborted || feedWaits.isClosed
        if (mustAnswer) {
          const events = part.events.map(one => ({ ...one, cursor: cursorOf(feed, one.position) }))
          return { events, cursor: cursorOf(feed, position) }
        }
        if (part.isEnd) await feedWaits.wait({ organizationId, after: position }, leftMs, signal)
      }
    } finally {
      permit?.release()
    }
  },
)
