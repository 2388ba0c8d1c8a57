import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import type { Reader } from './budget.ts'
import type { FollowedTag } from './followed-tags.ts'
import { type At, atOf, comesAfter, type Start } from './place.ts'
import { type Search, type Source, type SourceRow, startBelow } from './source.ts'
import { hasText } from './text-search.ts'

type Row = { at: At; id: string; period: number }

/** Row of a moved tag, with the tag that the device followed at that time. */
export type TagSourceRow = SourceRow & { followed: FollowedTag }

/**
 * Reads the moves of the tags that a device followed, for each tag only in the period in which the device followed it. Locking a tag is
 * no move.
 */
export function tagSource(
  reader: Reader,
  rank: number,
  { text, category, since }: Search,
  first: Start | undefined,
  tags: (tx: Tx) => Promise<readonly FollowedTag[]>,
): Source<TagSourceRow> {
  let start = first
  let followed: readonly FollowedTag[] | undefined
  return {
    rank,
    async next(limit) {
      followed ??= await reader.within(tags)
      if (followed.length === 0) return { rows: [], isEnd: true }
      const atMost = reader.rows(limit)
      const periods = followed.map((one, index) => movesOf(one, index, start, since, atMost))
      const rows = await reader.read(sql<Row>`
        select ${atOf(sql`m.changed_at`)} as at, m.id, m.period
          from (${sql.join(periods, sql` union all `)}) m
         order by m.changed_at desc, m.id desc limit ${atMost}`)
      const found = rows.map(({ at, id, period }) => {
        const tag = followed![period]!
        return {
          at,
          id,
          kind: 'person' as const,
          severity: 'Info' as const,
          isMatch: category === undefined && hasText(text, tag.path, 'moved the tag'),
          followed: tag,
        }
      })
      start = startBelow(found, start)
      return { rows: found, isEnd: rows.length < atMost }
    },
  }
}

function movesOf(
  { packageId, tag, from, until }: FollowedTag,
  period: number,
  start: Start | undefined,
  since: string | undefined,
  limit: number,
): RawBuilder<unknown> {
  return sql`(
    select t.changed_at, ${`${packageId} ${tag}`}::text as id, ${period}::integer as period
      from package_tag_change t
     where t.package_id = ${packageId} and t.tag = ${tag}
       and t.version_id is distinct from (
         select b.version_id from package_tag_change b
          where b.package_id = t.package_id and b.tag = t.tag and b.changed_at < t.changed_at
          order by b.changed_at desc limit 1)
       and ${comesAfter(start, sql`t.changed_at`, sql`${`${packageId} ${tag}`}::text`)}
       and ${since === undefined ? sql`true` : sql`t.changed_at >= ${since}::timestamptz`}
       and ${from === undefined ? sql`true` : sql`t.changed_at >= ${from}::timestamptz`}
       and ${until === undefined ? sql`true` : sql`t.changed_at < ${until}::timestamptz`}
     order by t.changed_at desc limit ${limit})`
}
