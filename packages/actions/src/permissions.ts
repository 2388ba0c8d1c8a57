import type { AnyPermission } from './define.ts'

/**
 * Relations of a caller to the resource of an action. A caller can have several:
 *
 * - `anyone`: any caller, even without credentials
 * - `person`: any signed-in person
 * - `oneself`: the person to whom the resource belongs (an account, token, session, invitation or membership)
 * - `member` and `organizationAdmin`: members and administrators of the resource's organization
 * - `instanceAdmin`: an administrator of the instance
 * - `device`: the device itself
 * - `linkedDevice`: a device of a project that is linked to the repository
 * - `publicReader`: any caller while the repository is public
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
 * Returns the roles that a permission admits. The hub checks permissions with this function, and all documents are generated
 * from it. Administrators of the instance read and delete everywhere, and manage accounts, organizations and members
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
  const isForAdministrators =
    can === 'administer' || can === 'webhook.manage' || (can === 'delete' && on === 'organization')
  if (!isForAdministrators) roles.add('member')
  if (orOneself) roles.add('oneself')
  roles.add('organizationAdmin')
  const isMembership = can === 'administer' && (on === 'organization' || on === 'invitation')
  const isView = can === 'view' || can === 'operation.view'
  if (isView || can === 'inspect' || can === 'read' || can === 'delete' || isMembership)
    roles.add('instanceAdmin')
  return roles
}
