import { type RawBuilder, sql } from 'kysely'
import { type Caller, personOf } from '../caller.ts'

/**
 * Makes an SQL condition that limits a list to rows of the caller's organizations. It is always true for administrators of the
 * instance.
 */
export function isVisibleTo(caller: Caller, organizationId: RawBuilder<unknown>): RawBuilder<boolean> {
  const person = personOf(caller)
  if (person?.isAdmin) return sql<boolean>`true`
  return sql<boolean>`${organizationId} in
    (select organization_id from organization_member where user_id = ${person?.userId ?? ''})`
}
