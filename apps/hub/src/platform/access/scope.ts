import type { ResourceKind } from '@muster/actions'
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
export type Resolve = {
  (db: Db, id: string, userId: string | undefined, projectId: string | undefined): Promise<Scope | undefined>
  /** SQL of the same query, for statements that join it. Absent for resources that an organization does not own. */
  statement?: OwnersStatement
}

/**
 * Makes SQL that finds the owners of a resource, from SQL of the resource's id and of the person's. It selects id columns of `Scope`, and
 * `isAdmin` from the person's row in `organization_member`, which is null without such a row.
 */
type OwnersStatement = (id: string, userId: string) => string

/** Row of an `OwnersStatement`. */
export type OwnersRow = { organizationId: string; isAdmin: boolean | null } & Pick<
  Scope,
  'projectId' | 'deviceId'
>

/** Makes a resolver for resources that an organization owns. */
export function ownedBy(statement: OwnersStatement): Resolve {
  const text = statement('$1', '$2')
  const resolve: Resolve = async (db, id, userId) => {
    const [row] = await select<OwnersRow>(db, text, [id, userId ?? ''])
    return row && scopeOf(row)
  }
  resolve.statement = statement
  return resolve
}

/** Owners of a resource from the row of their statement, which may have further columns. */
export function scopeOf({ organizationId, projectId, deviceId, isAdmin }: OwnersRow): Scope {
  return {
    organizationId,
    ...(projectId !== undefined && { projectId }),
    ...(deviceId !== undefined && { deviceId }),
    rights: rightsOf(isAdmin),
  }
}

/** A resource, as the permission and the input of an action name it. */
export type Resource = { kind: ResourceKind; id: string }

/** A resource with its owners, which a statement found together with the calling person. Without `scope`, the resource is absent. */
export type OwnedResource = Resource & { scope: Scope | undefined }

/** Makes a resolver for resources that a person owns. The SQL statement selects `userId`; $1 is the resource's id. */
export function ownedByPerson(statement: string): Resolve {
  return async (db, id) => (await select<{ userId: string }>(db, statement, [id]))[0]
}
