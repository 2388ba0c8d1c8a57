import type { AuditSearch } from './audit-params.ts'
import { KINDS, type Kind } from './sentences/kinds.ts'
import { namesOf } from './sentences/names.ts'
import { timeFilter } from './time-range.ts'

/** Whether a text is a key of `KINDS`, the kinds of subjects. */
export function isKind(text: string | undefined): text is Kind {
  return text !== undefined && Object.hasOwn(KINDS, text)
}

/** Filter of the query for these search parameters. Ignores invalid values. */
export function auditFilter(search: AuditSearch) {
  const { q, actor, kind, type, subject } = search
  const types = type ? [type] : isKind(kind) ? namesOf(kind) : undefined
  return {
    ...(q?.trim() && { text: q.trim() }),
    ...(actor?.trim() && { actor: actor.trim() }),
    ...(types && { types }),
    ...(subject?.trim() && { subject: subject.trim() }),
    ...timeFilter(search),
  }
}
