import { type Db, select } from '../database/client/connection.ts'

/** What a resource belongs to, and the role there of the person who asks. */
export type Scope = {
  organizationId?: string
  projectId?: string
  deviceId?: string
  repositoryId?: string
  userId?: string
  packageId?: string
  /** What everybody may read of a repository, or what devices of the asking device's project may. */
  readableBy?: { everybody: boolean; linkedDevice: boolean }
  /** Role in the organization that owns the resource; nothing for people outside of it. */
  role?: 'Admin' | 'Member' | undefined
}

/** Finds a resource's owner in one query, for a person or the project of a device; nothing when there is no such resource. */
export type Resolve = (
  db: Db,
  id: string,
  userId: string | undefined,
  projectId: string | undefined,
) => Promise<Scope | undefined>

/** The role that a row of `organization_member`, joined or not, stands for. */
export function roleOf(isAdmin: boolean | null): Scope['role'] {
  return isAdmin === null ? undefined : isAdmin ? 'Admin' : 'Member'
}

/**
 * Resolves what belongs to an organization, by a statement that finds the ids of a scope and `isAdmin` of the asking person's row of
 * `organization_member`, where they have one; $1 is the resource, $2 the person.
 */
export function ownedBy(statement: string): Resolve {
  return async (db, id, userId) => {
    const [row] = await select<Scope & { isAdmin: boolean | null }>(db, statement, [id, userId ?? ''])
    if (!row) return undefined
    const { isAdmin, ...ids } = row
    return { ...ids, role: roleOf(isAdmin) }
  }
}

/** Resolves what belongs to a person, by a statement that finds `userId`; $1 is the resource. */
export function ownedByPerson(statement: string): Resolve {
  return async (db, id) => (await select<{ userId: string }>(db, statement, [id]))[0]
}
