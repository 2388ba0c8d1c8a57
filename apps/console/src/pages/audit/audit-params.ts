import type { TimeSearch } from './time-range.ts'

/** Number of rows per request of a log. */
export const LOG_PAGE_SIZE = 100

/**
 * Search parameters of a log. `q` is part of a name or an id, `kind` a kind of subject, `type` the exact name of an event or action,
 * `subject` the id of the object that the entries are about. `outcome` is `failed` if only failed actions are shown. `status` is a filter
 * of the log of actions.
 */
export type AuditSearch = TimeSearch & {
  q?: string
  actor?: string
  kind?: string
  type?: string
  subject?: string
  outcome?: string
  status?: string
}

/** Names of the search parameters of a log. */
export const AUDIT_SEARCH = [
  'q',
  'actor',
  'kind',
  'type',
  'subject',
  'outcome',
  'status',
  'time',
  'from',
  'to',
  'hours',
] as const satisfies readonly (keyof AuditSearch)[]
