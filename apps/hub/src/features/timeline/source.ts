import type { TimelineKind } from '@muster/actions'
import type { At, Start } from './place.ts'
import type { Severity } from './severity.ts'

/** A row that a source has read: enough to sort, filter and count it. The content of the entries of a page is read later. */
export type SourceRow = {
  at: At
  id: string
  kind: TimelineKind
  severity: Severity
  /** Whether the row matches the category and the text of the search. */
  isMatch: boolean
}

/** Filter of a timeline without the kinds. Times are in the form of the API. */
export type Search = {
  deviceId: string
  /** Organization of the device. Only the email addresses of its members are searched. */
  organizationId: string
  text: string | undefined
  category: string | undefined
  since: string | undefined
}

/** Reads one kind of record, newest first. `next` returns roughly up to `limit` rows. It returns an empty list only at the end. */
export type Source<Row extends SourceRow = SourceRow> = {
  rank: number
  next(limit: number): Promise<{ rows: Row[]; isEnd: boolean }>
}

/** Point from which the source continues after the given rows; `start` if there are none. */
export function startBelow(rows: readonly SourceRow[], start: Start | undefined): Start | undefined {
  const last = rows.at(-1)
  return last ? { at: last.at, isIncluded: true, afterId: last.id } : start
}
