import { type Db, select } from '../database/client/connection.ts'
import { type Right, rightsOf } from './rights.ts'

/** Owners of a resource, and the rights of the calling person in the owning organization. */
export type Scope = {
  organizationId?: string
  projectId?: string
  deviceId?: string
  repositoryId?: string
  userId?: string
  packageId?: string
  /** For repositories: whether everybody may read the repository, and whether the project of the calling device is linked to it. */
  readableBy?: { everybody: boolean; linkedDevice: boolean }
  /** Rights of the calling person in the organization that owns the resource; undefined for callers outside of it. */
  rights?: ReadonlySet<Right> | undefined
}

/**
 * Finds the owners of a resource in one query. `userId` is the calling person, `projectId` the project of a calling device. Resolves to
 * undefined for an absent resource.
 */
export type Resolve = (
  db: Db,
  id: string,
  userId: string | undefined,
  projectId: string | undefined,
) => Promise<Scope | undefined>

/**
 * Makes a resolver for resources that an organization owns. The SQL statement selects id columns of `Scope`, and `isAdmin` from the
 * person's row in `organization_member`, which is null without such a row. $1 is the resource's id, $2 is the person's id.
 */
export function ownedBy(statement: string): Resolve {
  return async (db, id, userId) => {
    const [row] = await select<Scope & { isAdmin: boolean | null }>(db, statement, [id, userId ?? ''])
    if (!row) return undefined
    const { isAdmin, ...ids } = row
    return { ...ids, rights: rightsOf(isAdmin) }
  }
}

/** Makes a resolver for resources that a person owns. The SQL statement selects `userId`; $1 is the resource's id. */
export function ownedByPerson(statement: string): Resolve {
  return async (db, id) => (await select<{ userId: string }>(db, statement, [id]))[0]
}
