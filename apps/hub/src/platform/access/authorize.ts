import { ActionError, type AnyPermission, rolesOf } from '@muster/actions'
import type { Db } from '../database/client/connection.ts'
import { type Caller, type DeviceCaller, type PersonCaller, personOf } from '../pipeline/caller.ts'
import { ownersOf } from './owners.ts'
import { rightFor } from './rights.ts'
import type { OwnedResource, Scope } from './scope.ts'

/**
 * Result of a permission check that passed. `scope` has the owners of the action's resource. `asInstanceAdmin` is true when the caller has
 * the permission only as an administrator of the instance. Such calls are audited even if the action is a query.
 */
export type Authorization = { scope: Scope; asInstanceAdmin: boolean }

const OWN: Authorization = { scope: {}, asInstanceAdmin: false }

/**
 * Checks that a caller may run an action on the resource that the input names. The `Forbidden` error is the same for absent
 * resources, resources of other tenants and missing permissions, so that the answer does not disclose which ids exist. The HTTP
 * status of the error is 401 for callers without credentials, else 403. `owned` spares the statement for the owners if it is the resource
 * that the input names.
 */
export async function authorize(
  db: Db,
  caller: Caller,
  permission: AnyPermission,
  input: Record<string, unknown>,
  owned?: OwnedResource,
): Promise<Authorization> {
  if (permission === 'anyone') return OWN
  if (caller.actor === 'System' && typeof permission === 'string') return OWN
  const roles = rolesOf(permission)
  if (typeof permission === 'object' && permission.can === 'read')
    return authorizeReader(db, caller, permission, input)
  if (caller.actor === 'Anonymous') throw refusal(401)
  if (caller.actor === 'Device') {
    const deviceId = input[typeof permission === 'object' ? permission.id : 'deviceId']
    if (roles.has('device') && deviceId === caller.deviceId)
      return { scope: ownScope(caller), asInstanceAdmin: false }
    throw refusal()
  }
  const person = personOf(caller)
  if (!person && caller.actor !== 'System') throw refusal()
  if (typeof permission === 'string') {
    if (roles.has('person') || (roles.has('instanceAdmin') && person?.isAdmin)) return OWN
    throw refusal()
  }
  const id = input[permission.id] as string
  const scope =
    owned?.id === id && owned.kind === permission.on
      ? owned.scope
      : await ownersOf(permission.on)(db, id, person?.userId, undefined)
  if (!scope) throw refusal()
  const isOneself =
    person !== undefined && roles.has('oneself') && concerns(scope, person.userId, permission, input)
  if (!person || isOneself || scope.rights?.has(rightFor(permission)))
    return { scope, asInstanceAdmin: false }
  if (person.isAdmin && roles.has('instanceAdmin')) return { scope, asInstanceAdmin: true }
  throw scope.rights ? new RefusedMember(scope, roles.has('organizationAdmin')) : refusal()
}

/**
 * Permits reads of a repository to members of its organization with the right to read, devices of linked projects and administrators of the instance. While the
 * repository is public, everybody may read it (docs/api.md 4.5).
 */
async function authorizeReader(
  db: Db,
  caller: Caller,
  permission: Exclude<AnyPermission, string>,
  input: Record<string, unknown>,
): Promise<Authorization> {
  const person = personOf(caller)
  const projectId = caller.actor === 'Device' ? caller.projectId : undefined
  const scope = await ownersOf(permission.on)(db, input[permission.id] as string, person?.userId, projectId)
  if (
    scope &&
    (caller.actor === 'System' ||
      scope.rights?.has('read') ||
      scope.readableBy?.everybody ||
      scope.readableBy?.linkedDevice)
  )
    return { scope, asInstanceAdmin: false }
  if (scope && person?.isAdmin) return { scope, asInstanceAdmin: true }
  throw refusal(caller.actor === 'Anonymous' ? 401 : 403)
}

/** Whether a resource belongs to a person, or, with `orOneself`, the input of a member is about the member. */
function concerns(
  scope: Scope,
  userId: string,
  { orOneself }: Exclude<AnyPermission, string>,
  input: Record<string, unknown>,
): boolean {
  return scope.userId === userId || (scope.rights && orOneself ? input[orOneself] === userId : false)
}

function ownScope({ organizationId, projectId, deviceId }: DeviceCaller): Scope {
  return { organizationId, projectId, deviceId }
}

const REFUSED = 'You are not permitted to do this.'

/**
 * Refusal of a caller who has a role in the organization that owns the resource. The caller gets the same message as in every other
 * refusal. The logs of the resources in `scope` list the refused action with `reason`.
 */
export class RefusedMember extends ActionError {
  readonly scope: Scope
  readonly reason: string

  constructor(scope: Scope, mayAdministrators: boolean) {
    super('Forbidden', REFUSED, { status: 403 })
    this.scope = scope
    this.reason = mayAdministrators ? 'Only administrators of the organization may do this.' : REFUSED
  }
}

/** Returns the calling person. Throws `Forbidden` for other callers, such as jobs of the hub. */
export function requirePerson(caller: Caller): PersonCaller {
  const person = personOf(caller)
  if (!person) throw refusal()
  return person
}

/** Makes the `Forbidden` error, with the same text for absent resources and for missing permissions. */
export function refusal(status = 403): ActionError {
  return new ActionError('Forbidden', REFUSED, { status })
}
