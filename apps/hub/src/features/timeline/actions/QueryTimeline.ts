import { ActionError, type ParsedInput } from '@muster/actions'
import type { DeviceCaller } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { auditSource } from '../audit-source.ts'
import { withinBudget } from '../budget.ts'
import { connectionSource } from '../connection-source.ts'
import { entriesOf, rowsThatFit } from '../contents.ts'
import { eventSource } from '../event-source.ts'
import { followedTags } from '../followed-tags.ts'
import { readPage, type Sources } from '../merge.ts'
import { atOfTime, readPlace, type Start, startAfter, wireTimeAt, writePlace } from '../place.ts'
import { propertySource } from '../property-source.ts'
import { isAtLeast } from '../severity.ts'
import { tagSource } from '../tag-source.ts'

type Filter = Partial<NonNullable<ParsedInput<'devices_QueryTimeline'>['filter']>>

const DEFAULT_LIMIT = 50

/** Sort rank of an entry's source, which orders entries with equal times. Cursors contain these numbers. */
const RANK = { connection: 0, event: 1, property: 2, tag: 3, audit: 4 } as const

/** Merges the connections, events, property changes, tag moves and audit events of a device into one list, newest first. */
export const devices_QueryTimeline = handler(
  'devices_QueryTimeline',
  async (
    { db, caller, scope, signal },
    { deviceId, limit = DEFAULT_LIMIT, cursor, withCounts = false, filter = {} },
  ) => {
    const { kinds, minSeverity, until } = filter
    const since = beginningOf(filter)
    const place = cursor === undefined ? undefined : readPlace(cursor)
    const start = (rank: number): Start | undefined =>
      place
        ? startAfter(place, rank)
        : until === undefined
          ? undefined
          : { at: atOfTime(until), isIncluded: false }
    const { organizationId = '', projectId = '' } = scope
    const search = { deviceId, organizationId, text: filter.text, category: filter.category, since }
    const reads = (...of: NonNullable<typeof kinds>): boolean =>
      withCounts || !kinds?.length || of.some(kind => kinds.includes(kind))
    // The device writes the package path whose tags it follows into a property. Only repositories that the device may read are searched
    // for this path, so that a forged path discloses nothing.
    const asDevice: DeviceCaller = { actor: 'Device', deviceId, projectId, organizationId, tokenId: '' }

    const page = await withinBudget(db, signal, budget => {
      const sources: Sources = {
        connection: connectionSource(budget, RANK.connection, search, start(RANK.connection)),
        ...(reads('event') && { event: eventSource(budget, RANK.event, search, start(RANK.event)) }),
        ...(reads('property', 'person') && {
          property: propertySource(budget, RANK.property, search, start(RANK.property)),
        }),
        ...(reads('person') && {
          tag: tagSource(budget, RANK.tag, search, start(RANK.tag), own => followedTags(own, asDevice)),
        }),
        ...(reads('connection', 'certificate', 'person') && {
          audit: auditSource(budget, RANK.audit, search, start(RANK.audit)),
        }),
      }
      return readPage(sources, {
        limit,
        since: since === undefined ? undefined : atOfTime(since),
        readsOn: withCounts,
        isMatch: row => row.isMatch && isAtLeast(row.severity, minSeverity),
        isOnPage: row => !kinds?.length || kinds.includes(row.kind),
      })
    })
    if (page.isSpent && !page.last)
      throw new ActionError(
        'RateLimited',
        'The database is too busy to read what happened: try again later.',
        {
          retryAfterSecs: 5,
        },
      )

    const fitting = page.reads.slice(0, await rowsThatFit(db, deviceId, page.reads))
    const isCut = fitting.length < page.reads.length
    const isFull = isCut || fitting.length === limit
    const lastRead = fitting.at(-1)
    const lastOnPage = lastRead && {
      at: lastRead.row.at,
      rank: RANK[lastRead.source],
      id: lastRead.row.id,
    }
    const hasNext = isCut || page.hasMore || !page.isWhole
    return {
      entries: await entriesOf(db, { caller, scope }, deviceId, fitting),
      nextCursor: hasNext ? writePlace(isFull ? lastOnPage! : page.last!) : undefined,
      searchedBackTo: page.isSpent ? wireTimeAt(page.last!.at) : undefined,
      counts: withCounts ? page.counts : undefined,
    }
  },
)

/** Time from which a filter shows entries. If it has both `since` and `withinSecs`, the later time applies. */
function beginningOf({ since, withinSecs }: Filter): string | undefined {
  if (withinSecs === undefined) return since
  const atMs = Date.now() - withinSecs * 1000
  return since !== undefined && Date.parse(since) > atMs ? since : new Date(atMs).toISOString()
}
