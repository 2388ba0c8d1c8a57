import { anyText, oneOf, type SearchOf } from '../../lib/app/search.ts'
import { KINDS, type Kind } from './sentences/kinds.ts'
import { namesOf } from './sentences/names.ts'
import { timeFilter, timeSearch } from './shared/time-range.ts'
import { STATUS_LOOKS } from './status-looks.ts'

/** Statuses of an action, in the order of the filter. */
export const STATUSES = Object.keys(STATUS_LOOKS) as (keyof typeof STATUS_LOOKS)[]

/** Search parameters of a log. */
export const auditSearch = {
  // Part of a name or an id.
  q: anyText,
  actor: anyText,
  // Kind of subject.
  kind: oneOf(Object.keys(KINDS) as Kind[]),
  // Exact name of an event or action.
  type: anyText,
  // Id of the object that the entries are about.
  subject: anyText,
  // Whether only failed actions are shown. The log of actions has `status` instead.
  outcome: oneOf(['all', 'failed'], 'all'),
  status: oneOf(['all', ...STATUSES], 'all'),
  ...timeSearch,
}

/** Filter of the query for these search parameters. */
export function auditFilter(search: SearchOf<typeof auditSearch>) {
  const { q, actor, kind, type, subject } = search
  const types = type ? [type] : kind && namesOf(kind)
  return {
    ...(q?.trim() && { text: q.trim() }),
    ...(actor?.trim() && { actor: actor.trim() }),
    ...(types && { types }),
    ...(subject?.trim() && { subject: subject.trim() }),
    ...timeFilter(search),
  }
}
