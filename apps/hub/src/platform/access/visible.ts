import { type RawBuilder, sql } from 'kysely'
import { type Caller, personOf } from '../pipeline/caller.ts'
import { mayIn } from './rights.ts'
import type { Scope } from './scope.ts'

/**
 * Makes an SQL condition that limits a list to rows of the organizations whose resources the caller may view. It is always true for administrators of the
 * instance.
 */
export function isVisibleTo(caller: Caller, organizationId: RawBuilder<unknown>): RawBuilder<boolean> {
  const person = personOf(caller)
  return person?.isAdmin ? sql<boolean>`true` : mayIn('view', person?.userId, organizationId)
}

/**
 * Whether a caller reads a repository as an administrator of the instance, which is audited for its organization. Reads of public
 * repositories are not audited.
 */
export function isAuditedReader(caller: Caller, { rights, readableBy }: Scope): boolean {
  return !rights?.has('read') && personOf(caller)?.isAdmin === true && !readableBy?.everybody
}
