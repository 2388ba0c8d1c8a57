import { ActionError, type LiveChange } from '@muster/actions'
import type { FastifyInstance } from 'fastify'
import { personOf } from '../caller.ts'
import type { Db } from '../database/connection.ts'
import type { Core } from '../hub.ts'
import { callerOfRequest, type SessionCookie } from './request-caller.ts'

/** How often a stream says that it lives, in milliseconds; then the session and the memberships are read again. */
const PING_MS = 15_000
/** A console that reads slower than this many bytes behind is cut off; it opens a new stream and asks again. */
const MAX_BUFFERED_BYTES = 256 * 1024

/** The live stream: server-sent events that tell what changed in the caller's organizations. */
export function liveRoutes(
  app: FastifyInstance,
  core: () => Core,
  cookie: SessionCookie,
  { pingMs = PING_MS }: { pingMs?: number } = {},
): void {
  app.get('/api/v1/live', { exposeHeadRoute: false }, async (request, reply) => {
    const { sessions, db, live } = core()
    const person = personOf(await callerOfRequest(request, sessions, cookie))
    if (!person) throw new ActionError('Forbidden', 'Not logged in', { status: 401 })
    const organizationIds = await organizationIdsOf(db, person.userId)

    reply.hijack()
    const stream = reply.raw
    // Who went away meanwhile does not tell it again.
    if (stream.destroyed) return
    stream.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // A proxy that gathers output would hold notices back.
      'x-accel-buffering': 'no',
    })
    const send = (event: string, data: unknown): void => {
      stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      if (stream.writableLength > MAX_BUFFERED_BYTES) stream.destroy()
    }
    const update = live.subscribe(person.userId, organizationIds, changes => {
      send('changes', changes)
      if (changes.some(isMembership)) void refresh()
    })
    const refresh = async (): Promise<void> => {
      try {
        const still = personOf(await callerOfRequest(request, sessions, cookie))
        if (!still) return void stream.end()
        update(await organizationIdsOf(db, still.userId))
        send('ping', {})
      } catch {
        stream.end()
      }
    }
    const timer = setInterval(() => void refresh(), pingMs)
    stream.on('error', () => {})
    stream.on('close', () => {
      clearInterval(timer)
      update(undefined)
    })
    send('ping', {})
  })
}

function isMembership({ topic }: LiveChange): boolean {
  return topic === 'organizations'
}

async function organizationIdsOf(db: Db, userId: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('organization_member')
    .where('user_id', '=', userId)
    .select('organization_id')
    .execute()
  return new Set(rows.map(row => row.organization_id))
}
