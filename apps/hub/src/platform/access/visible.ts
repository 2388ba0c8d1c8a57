import { type RawBuilder, sql } from 'kysely'
import { type Caller, personOf } from '../pipeline/caller.ts'
import type { Scope } from './scope.ts'

/** Makes an SQL condition that limits a list to rows of the organizations in which the caller is a member. */
export function isMemberOf(caller: Caller, organizationId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`${organizationId} in
    (select organization_id from organization_member where user_id = ${personOf(caller)?.userId ?? ''})`
}

/**
 * Makes an SQL condition that limits a list to rows of the caller's organizations. It is always true for administrators of the
 * instance.
 */
export function isVisibleTo(caller: Caller, organizationId: RawBuilder<unknown>): RawBuilder<boolean> {
  return personOf(caller)?.isAdmin ? sql<boolean>`true` : isMemberOf(caller, organizationId)
}

/**
 * Whether a caller reads a repository as an administrator of the instance, which is audited for its organization. Reads of public
 * repositories are not audited.
 */
export function isAuditedReader(caller: Caller, { rights, readableBy }: Scope): boolean {
  return rights === undefined && personOf(caller)?.isAdmin === true && !readableBy?.everybody
}
