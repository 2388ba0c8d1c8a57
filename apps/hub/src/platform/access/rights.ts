import type { AnyPermission } from '@muster/actions'

/** Right on the resources of an organization, as permissions name them. */
export type Right = Extract<AnyPermission, object>['can']

const OF_MEMBERS: readonly Right[] = ['view', 'inspect', 'read', 'report', 'manage', 'delete']
/** Rights of each role in an organization. */
const RIGHTS = {
  Member: new Set<Right>(OF_MEMBERS),
  Admin: new Set<Right>([...OF_MEMBERS, 'administer']),
} as const

/** Rights of a person by the column `is_admin` of a left-joined `organization_member`; null means that the person is no member. */
export function rightsOf(isAdmin: boolean | null): ReadonlySet<Right> | undefined {
  return isAdmin === null ? undefined : RIGHTS[isAdmin ? 'Admin' : 'Member']
}

/** Right that a permission demands of members. Deleting an organization is a matter of its administration. */
export function rightFor({ can, on }: Extract<AnyPermission, object>): Right {
  return can === 'delete' && on === 'organization' ? 'administer' : can
}
