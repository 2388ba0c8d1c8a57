import type { AnyPermission } from './define.ts'

/**
 * What a caller can be to the thing that an action is about: somebody without credentials, any signed-in person, the person
 * whose own it is (an account, a token, a session, an invitation, a membership), a member or administrator of the organization
 * that it belongs to, an administrator of the instance, the device that it is, a device of a project that its repository is
 * linked to, anybody at all while its repository is public. A caller can be several at once.
 */
export const ROLES = [
  'anyone',
  'person',
  'oneself',
  'member',
  'organizationAdmin',
  'instanceAdmin',
  'device',
  'linkedDevice',
  'publicReader',
] as const
export type Role = (typeof ROLES)[number]

/**
 * The roles that a permission lets in: the one rule that the hub decides by and that every document tells. Administrators of
 * the instance read and delete everywhere, and keep accounts, organizations and members in order (decisions, "Actions and audit").
 */
export function rolesOf(permission: AnyPermission): ReadonlySet<Role> {
  if (permission === 'anyone') return new Set(ROLES)
  if (permission === 'user')
    return new Set<Role>(['person', 'oneself', 'member', 'organizationAdmin', 'instanceAdmin'])
  if (permission === 'admin') return new Set<Role>(['instanceAdmin'])
  if (permission === 'device') return new Set<Role>(['device'])
  const { can, on, orOneself } = permission
  const roles = new Set<Role>()
  if (can === 'own' || on === 'user' || on === 'userToken' || on === 'session') {
    roles.add('oneself')
    if (can !== 'own') roles.add('instanceAdmin')
    return roles
  }
  if (on === 'device' && (can === 'report' || can === 'inspect')) roles.add('device')
  if (can === 'read') roles.add('linkedDevice').add('publicReader')
  if (can !== 'administer' && !(can === 'delete' && on === 'organization')) roles.add('member')
  if (orOneself) roles.add('oneself')
  roles.add('organizationAdmin')
  const isMembership = can === 'administer' && (on === 'organization' || on === 'invitation')
  if (can === 'view' || can === 'inspect' || can === 'read' || can === 'delete' || isMembership)
    roles.add('instanceAdmin')
  return roles
}
