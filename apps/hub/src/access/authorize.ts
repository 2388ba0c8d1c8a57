import { ActionError, type AnyPermission, type ResourceKind, type Right } from '@muster/actions'
import { type Caller, personOf } from '../caller.ts'
import type { Db } from '../database/connection.ts'
import { resolveCertificate } from './certificate.ts'
import { resolveDeploymentToken } from './deployment-token.ts'
import { resolveDevice } from './device.ts'
import { resolveOrganization } from './organization.ts'
import { resolveProject } from './project.ts'
import type { Resolve, Scope } from './scope.ts'
import { resolveUser } from './user.ts'

const RESOLVE: Record<ResourceKind, Resolve> = {
  user: resolveUser,
  organization: resolveOrganization,
  project: resolveProject,
  deploymentToken: resolveDeploymentToken,
  device: resolveDevice,
  certificate: resolveCertificate,
}

/** What an action may touch, and whether only the administration of the instance allows it, which is always audited. */
export type Authorization = { scope: Scope; asInstanceAdmin: boolean }

const OWN: Authorization = { scope: {}, asInstanceAdmin: false }

/**
 * Decides whether a caller may run an action on the resource that its input names. Throws `Forbidden` with one text for what
 * is not there, what belongs to others and what a role does not allow; with status 401 for callers without credentials.
 */
export async function authorize(
  db: Db,
  caller: Caller,
  permission: AnyPermission,
  input: Record<string, unknown>,
): Promise<Authorization> {
  if (permission === 'anyone') return OWN
  if (caller.actor === 'System' && typeof permission === 'string') return OWN
  if (caller.actor === 'Anonymous') throw refusal(401)
  if (permission === 'user') {
    if (personOf(caller)) return OWN
  } else if (permission === 'admin') {
    if (personOf(caller)?.isAdmin) return OWN
  } else if (permission === 'device') {
    if (caller.actor === 'Device' && input.deviceId === caller.deviceId)
      return { scope: ownScope(caller), asInstanceAdmin: false }
  } else {
    return authorizeOn(db, caller, permission.can, permission.on, input[permission.id] as string)
  }
  throw refusal()
}

async function authorizeOn(
  db: Db,
  caller: Caller,
  can: Right,
  on: ResourceKind,
  id: string,
): Promise<Authorization> {
  if (caller.actor === 'Device') {
    if ((can === 'report' || can === 'inspect') && on === 'device' && id === caller.deviceId) {
      return { scope: ownScope(caller), asInstanceAdmin: false }
    }
    throw refusal()
  }
  const person = personOf(caller)
  if (!person && caller.actor !== 'System') throw refusal()
  const scope = await RESOLVE[on](db, id, person?.userId)
  if (!scope) throw refusal()
  if (!person) return { scope, asInstanceAdmin: false }
  if (mayAsMember(can, on, scope, person.userId)) return { scope, asInstanceAdmin: false }
  const isForInstanceAdmins = can === 'view' || can === 'inspect' || can === 'delete'
  if (person.isAdmin && isForInstanceAdmins) return { scope, asInstanceAdmin: true }
  throw refusal()
}

function mayAsMember(can: Right, on: ResourceKind, scope: Scope, userId: string): boolean {
  if (on === 'user') return scope.userId === userId
  if (can === 'administer' || (can === 'delete' && on === 'organization')) return scope.role === 'Admin'
  return scope.role !== undefined
}

function ownScope({ organizationId, projectId, deviceId }: Caller & { actor: 'Device' }): Scope {
  return { organizationId, projectId, deviceId }
}

/** The one answer to whatever is not permitted, not there or somebody else's. */
export function refusal(status = 403): ActionError {
  return new ActionError('Forbidden', 'You are not permitted to do this.', { status })
}
