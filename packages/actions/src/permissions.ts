import type { AnyPermission } from './define.ts'

/**
 * Relations of a caller to the resource of an action: `anyone` even without credentials; `person` with any sign-in;
 * `oneself` the person that it belongs to (an account, a token, a session, an invitation, a membership); `member` and
 * `organizationAdmin` of its organization; `instanceAdmin`; `device` for the device itself; `linkedDevice` of a project
 * linked to the repository; `publicReader` anyone while the repository is public. A caller can have several.
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
 * The roles that a permission admits. The hub decides by this function and all documents are generated from it.
 * Administrators of the instance read and delete everywhere, and manage accounts, organizations and members
 * (docs/decisions.md, "Actions and audit").
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
