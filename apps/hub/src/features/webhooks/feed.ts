import { randomUUID } from 'node:crypto'
import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/client/connection.ts'
import { rowsWithin } from '../../platform/database/client/page.ts'
import { hasType, MESSAGE_COLUMNS, type Message, type MessageRow, messageOf } from './messages.ts'

/** Positions that one statement looks through. With types that are rare, most of them do not match. */
const POSITIONS = 10_000
/** Largest answer of the feed, in bytes of JSON: half of that of an action. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** State of a feed that is on. */
type Feed = { epoch: string; from: number; last: number; removed: number }

/** Which events of a feed a reader wants. */
type FeedQuery = {
  organizationId: string
  projectId?: string | undefined
  types?: readonly string[] | undefined
  limit: number
}

/** A part of a feed: its events, and the position up to which it was read. `isEnd` means that the feed has no later position. */
type FeedPart = { events: Message[]; position: number; isEnd: boolean }

/** Reads the state of a feed. Throws `Invalid` (409) if it is off. */
export async function readFeed(db: Db, organizationId: string): Promise<Feed> {
  const { rows } = await sql<Feed>`
    select r.feed_epoch as epoch, r.feed_from as "from", coalesce(p.last_position, 0) as last,
           coalesce(p.removed_position, 0) as removed
      from outbox_reader r left join outbox_position p on p.organization_id = r.organization_id
     where r.organization_id = ${organizationId} and r.feed_epoch is not null`.execute(db)
  const [feed] = rows
  if (feed) return feed
  throw new ActionError(
    'Invalid',
    'The feed of events of this organization is off: an administrator of the organization can turn it on (events_SetFeed).',
    { status: 409 },
  )
}

/** Position after which a reader goes on. Throws `Invalid` (410) for a cursor whose next event may be gone. */
export function positionOf(after: string | undefined, from: 'Oldest' | 'Now', feed: Feed): number {
  const oldest = Math.max(feed.from, feed.removed)
  if (after === undefined) return from === 'Now' ? feed.last : oldest
  const [epoch, text = ''] = after.split('.')
  const position = Number(text)
  if (!/^[\w-]{1,64}\.\d{1,15}$/.test(after)) throw wrongCursor('no cursor of a feed', 400)
  if (epoch !== feed.epoch)
    throw wrongCursor('a cursor from before a restore, or before the feed was turned off', 410)
  if (position < oldest) throw wrongCursor('a cursor of events that are older than 30 days and gone', 410)
  return position
}

/** Cursor of a position. */
export function cursorOf({ epoch }: Feed, position: number): string {
  return `${epoch}.${position}`
}

/** Reads the events after a position, up to the newest one or to a bound of work. */
export async function readPart(
  db: Db,
  { organizationId, projectId, types, limit }: FeedQuery,
  after: number,
): Promise<FeedPart> {
  // One statement, and so one snapshot: a position that is seen in `outbox_position` has its message.
  const { rows } = await sql<MessageRow & { last: number }>`
    with newest as (
      select coalesce((select last_position from outbox_position where organization_id = ${organizationId}), 0) as last)
    select n.last, m.* from newest n left join lateral (
      select ${MESSAGE_COLUMNS} from outbox o
       where o.organization_id = ${organizationId} and o.position > ${after}
         and o.position <= least(n.last, ${after}::bigint + ${POSITIONS})
         and (${projectId ?? null}::text is null or o.project_id = ${projectId ?? null})
         and ${hasType(types, sql`o.type`)}
       order by o.position limit ${limit}) m on true
     order by m.position`.execute(db)
  const { last } = rows[0]!
  const found = rows.filter(({ message_id: id }) => id !== null).map(messageOf)
  const events = found.slice(
    0,
    rowsWithin(
      MAX_ANSWER_BYTES,
      found.map(one => ({ bytes: Buffer.byteLength(JSON.stringify(one)) })),
    ),
  )
  const isFull = events.length < found.length || events.length === limit
  const position = isFull ? events.at(-1)!.position : Math.max(after, Math.min(last, after + POSITIONS))
  return { events, position, isEnd: position >= last }
}

/** Turns the feed of an organization on or off. A feed that is turned on begins with what happens from then on. */
export async function setFeed(tx: Tx, organizationId: string, isOn: boolean): Promise<void> {
  await lockReader(tx, organizationId)
  await sql`
    update outbox_reader r
       set feed_epoch = case when ${isOn} then coalesce(r.feed_epoch, ${randomUUID()}) end,
           feed_from = case when r.feed_epoch is null
             then coalesce((select last_position from outbox_position p where p.organization_id = r.organization_id), 0)
             else r.feed_from end
     where r.organization_id = ${organizationId}`.execute(tx)
  await copyIfRead(tx, organizationId)
}

/** Makes the row of an organization whose events may be copied, and locks it. */
export async function lockReader(tx: Tx, organizationId: string): Promise<void> {
  await tx
    .insertInto('outbox_reader')
    .values({ organization_id: organizationId })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  await tx
    .selectFrom('outbox_reader')
    .where('organization_id', '=', organizationId)
    .select('organization_id')
    .forNoKeyUpdate()
    .execute()
}

/** Makes the trigger copy the events of an organization exactly while something reads them. */
async function copyIfRead(tx: Tx, organizationId: string): Promise<void> {
  await sql`select refresh_outbox_reader(${organizationId})`.execute(tx)
}

function wrongCursor(found: string, status: 400 | 410): ActionError {
  const message = `Found ${found}, expected the cursor of a recent answer: leave \`after\` out to begin anew.`
  return new ActionError('Invalid', message, { status, issues: [{ path: 'after', message }] })
}
