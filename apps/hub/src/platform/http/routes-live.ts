import { ActionError, type LiveChange } from '@muster/actions'
import { waitUpTo } from '@muster/concurrency'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { rolesWith } from '../access/rights.ts'
import { PendingChecks } from '../bus/ended-rights.ts'
import type { Db } from '../database/client/connection.ts'
import { credentialId, type PersonCaller, personOf } from '../pipeline/caller.ts'
import type { Core } from '../pipeline/core.ts'
import { callerOfRequest, refuseForeignOrigin, type SessionCookie } from '../sessions/request-caller.ts'

/**
 * Interval of `ping` events on a stream, in milliseconds. A console that receives nothing for 2.6 s asks whether the hub still answers,
 * so that it can report a lost connection within 5 s.
 */
const PING_MS = 2_000
/**
 * Interval at which the sessions and memberships of all streams are read again, in milliseconds. Changes made on other nodes take
 * effect after at most this time.
 */
const CHECK_MS = 2_000
/** Longest time that opening a stream waits for the bus between nodes, in milliseconds. */
const SUBSCRIBE_TIMEOUT_MS = 1_000
/**
 * Maximum number of unsent bytes of a stream. A console with more unsent bytes is disconnected. It then opens a new stream and
 * reloads its data.
 */
const MAX_BUFFERED_BYTES = 256 * 1024

type Stream = {
  person: PersonCaller
  /** Replaces the organizations whose changes the stream reports. */
  setOrganizations: (organizationIds: ReadonlySet<string>) => void
  end: () => void
}

/** The live stream: server-sent events with the changes in the caller's organizations. */
export function liveRoutes(
  app: FastifyInstance,
  core: () => Core,
  cookie: SessionCookie,
  { pingMs = PING_MS, checkMs = CHECK_MS }: { pingMs?: number; checkMs?: number } = {},
): void {
  const streams = new Set<Stream>()
  let timer: NodeJS.Timeout | undefined
  /**
   * Checks all streams together, repeatedly while any stream is open. If the check fails, the streams end and their consoles
   * reconnect.
   */
  const checkAll = async (): Promise<void> => {
    const open = [...streams]
    try {
      await check(core().db, open)
    } catch {
      for (const stream of open) stream.end()
    }
    timer = undefined
    if (streams.size > 0) scheduleCheck()
  }
  const scheduleCheck = (): void => {
    timer ??= setTimeout(() => void checkAll(), checkMs)
  }
  const reported = new PendingChecks<Stream>(async some => {
    try {
      await check(core().db, some)
    } catch {
      // This extra check of single streams may fail without effect, because `checkAll` soon finds the ended rights.
    }
  })
  app.addHook('onClose', async () => {
    clearTimeout(timer)
    reported[Symbol.dispose]()
  })

  app.get('/api/v1/live', { exposeHeadRoute: false }, async (request, reply) => {
    const { sessions, databaseShares, live, rights, shares } = core()
    refuseForeignOrigin(request, cookie)
    const person = personOf(await callerOfRequest(request, sessions, cookie))
    if (!person) throw new ActionError('Forbidden', 'Not logged in', { status: 401 })
    request.note = { actorId: person.userId }
    const share = databaseShares.ofPerson(person.userId, 'live stream')
    const memberships = await share.repeatLocked(() => membershipsOf(share.db, [person.userId]))
    const organizationIds = memberships.get(person.userId)

    const raw = reply.raw
    if (!raw.destroyed) shares.takeStream(person, raw)
    reply.hijack()
    // A client may have disconnected during the queries above. In that case the `close` event of its connection has fired
    // already, so `stop` would never run.
    if (raw.destroyed) return
    raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // nginx would buffer the stream otherwise.
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    })
    // A console reloads its data when the stream opens, so earlier changes need not be sent.
    let isOpen = false
    const send = (event: string, data: unknown): void => {
      if (!isOpen) return
      raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      if (raw.writableLength > MAX_BUFFERED_BYTES) raw.destroy()
    }
    const update = live.subscribe(
      person.userId,
      organizationIds ?? NONE,
      changes => {
        send('changes', changes)
        if (changes.some(isMembership)) share.repeatLocked(() => check(share.db, [stream])).catch(stream.end)
      },
      // Called when changes may have been missed. The console then opens a new stream and reloads its data.
      () => stream.end(),
    )
    const unwatch = rights.onEndedOf(person.userId, () => reported.add([stream]))
    const pings = setInterval(() => send('ping', {}), pingMs)
    const stop = (): void => {
      clearInterval(pings)
      streams.delete(stream)
      update(undefined)
      unwatch()
    }
    const stream: Stream = {
      person,
      setOrganizations: update,
      end: () => {
        stop()
        raw.end()
      },
    }
    streams.add(stream)
    scheduleCheck()
    raw.on('error', () => {})
    raw.on('close', stop)
    // Waits before the first event, with which the stream opens: from then on, no change on another node may be missed.
    await waitUpTo(SUBSCRIBE_TIMEOUT_MS, live.subscribed())
    if (raw.destroyed || raw.writableEnded) return
    isOpen = true
    send('ping', {})
  })
}

const NONE: ReadonlySet<string> = new Set()

function isMembership({ topic }: LiveChange): boolean {
  return topic === 'organizations'
}

/** Ends streams whose session or token is no longer valid, and updates the organizations of the other streams. */
async function check(db: Db, streams: Stream[]): Promise<void> {
  const idsOf = (actor: PersonCaller['actor']): string[] =>
    streams.filter(({ person }) => person.actor === actor).map(({ person }) => credentialId(person))
  const good = await goodCredentials(db, { sessionIds: idsOf('User'), tokenIds: idsOf('UserToken') })
  const memberships = await membershipsOf(
    db,
    streams.map(({ person }) => person.userId),
  )
  for (const { person, setOrganizations, end } of streams) {
    if (good.has(credentialId(person))) setOrganizations(memberships.get(person.userId) ?? NONE)
    else end()
  }
}

/** The sessions and user tokens that are still valid, by the same rules as in `Sessions`. */
async function goodCredentials(
  db: Db,
  { sessionIds, tokenIds }: { sessionIds: string[]; tokenIds: string[] },
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('session as s')
    .innerJoin('user as u', 'u.user_id', 's.user_id')
    .where('s.session_id', '=', anyOf(sessionIds))
    .where('s.expires_at', '>', new Date())
    .where('u.is_active', '=', true)
    .select('s.session_id as id')
    .unionAll(
      db
        .selectFrom('user_token as t')
        .innerJoin('user as u', 'u.user_id', 't.user_id')
        .where('t.token_id', '=', anyOf(tokenIds))
        .where(({ or, eb }) => or([eb('t.expires_at', 'is', null), eb('t.expires_at', '>', new Date())]))
        .where('u.is_active', '=', true)
        .select('t.token_id as id'),
    )
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** The organizations whose resources people may view, by user id. */
async function membershipsOf(db: Db, userIds: string[]): Promise<Map<string, Set<string>>> {
  const rows = await db
    .selectFrom('organization_member')
    .where('user_id', '=', anyOf(userIds))
    .where('is_admin', '=', sql<boolean>`any(${rolesWith('view')}::boolean[])`)
    .select(['user_id', 'organization_id'])
    .execute()
  const ids = Map.groupBy(rows, ({ user_id }) => user_id)
  return new Map(
    [...ids].map(([userId, list]) => [userId, new Set(list.map(({ organization_id }) => organization_id))]),
  )
}

/** An array parameter, so that the statement's text is the same for any number of ids. */
function anyOf(ids: string[]) {
  return sql<string>`any(${ids}::text[])`
}
