import type { AnyPermission } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'

/** Right on the resources of an organization, as permissions name them. */
export type Right = Extract<AnyPermission, object>['can']

const OF_MEMBERS: readonly Right[] = [
  'view',
  'inspect',
  'read',
  'report',
  'manage',
  'delete',
  'operation.view',
  'operation.manage',
]
/** Rights of each role in an organization. Whatever asks for a right reads them here. */
export const ROLES = {
  Member: new Set<Right>(OF_MEMBERS),
  Admin: new Set<Right>([...OF_MEMBERS, 'administer', 'webhook.manage']),
} as const

/** Rights of a person by the column `is_admin` of a left-joined `organization_member`; null means that the person is no member. */
export function rightsOf(isAdmin: boolean | null): ReadonlySet<Right> | undefined {
  return isAdmin === null ? undefined : ROLES[isAdmin ? 'Admin' : 'Member']
}

/** Roles that have a right, as values of the column `is_admin` of `organization_member`. SQL compares the column with `any` of them. */
export function rolesWith(right: Right): boolean[] {
  return [false, true].filter(isAdmin => rightsOf(isAdmin)?.has(right))
}

/** SQL condition that a person has a right in the organization of a row. Without a person it is false. */
export function mayIn(
  right: Right,
  userId: string | undefined,
  organizationId: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`${organizationId} in (select organization_id from organization_member
    where user_id = ${userId ?? ''} and is_admin = any (${rolesWith(right)}::boolean[]))`
}

/** Right that a permission demands of members. Deleting an organization is a matter of its administration. */
export function rightFor({ can, on }: Extract<AnyPermission, object>): Right {
  return can === 'delete' && on === 'organization' ? 'administer' : can
}
