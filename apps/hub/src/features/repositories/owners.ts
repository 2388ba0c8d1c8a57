import { rightsOf } from '../../platform/access/rights.ts'
import type { Resolve, Scope } from '../../platform/access/scope.ts'
import { select } from '../../platform/database/client/connection.ts'

type Owner = {
  organizationId: string
  repositoryId: string
  packageId: string | null
  isAdmin: boolean | null
  isPublic: boolean
  isLinked: boolean
}

/**
 * Makes SQL that selects three facts about a resource: its repository, the membership of the calling person ($2), and whether the project
 * of the calling device ($3, the project's id) is linked to the repository. Callers append the condition on the resource's id ($1).
 */
function ownerOf(from: string, packageId = 'null'): string {
  return `
  select r.organization_id as "organizationId", r.repository_id as "repositoryId", ${packageId} as "packageId",
         m.is_admin as "isAdmin", r.visibility = 'Public' as "isPublic", l.project_id is not null as "isLinked"
    from ${from}
    left join organization_member m on m.organization_id = r.organization_id and m.user_id = $2
    left join project_repository l on l.repository_id = r.repository_id and l.project_id = $3`
}

function resolve(statement: string): Resolve {
  return async (db, id, userId, projectId) => {
    const [row] = await select<Owner>(db, statement, [id, userId ?? '', projectId ?? ''])
    if (!row) return undefined
    const { organizationId, repositoryId, packageId, isAdmin, isPublic, isLinked } = row
    const scope: Scope = {
      organizationId,
      repositoryId,
      rights: rightsOf(isAdmin),
      readableBy: { everybody: isPublic, linkedDevice: isLinked },
    }
    return packageId === null ? scope : { ...scope, packageId }
  }
}

/** Finds the organization that owns a repository. */
const resolveRepository = resolve(`${ownerOf('repository r')} where r.repository_id = $1`)

/** Finds the repository and organization that own a package. */
const resolvePackage = resolve(
  `${ownerOf('package p join repository r on r.repository_id = p.repository_id', 'p.package_id')} where p.package_id = $1`,
)

/** Finds the package, repository and organization that own a version. */
const resolvePackageVersion = resolve(
  `${ownerOf(
    'package_version v join package p on p.package_id = v.package_id join repository r on r.repository_id = p.repository_id',
    'p.package_id',
  )} where v.version_id = $1`,
)

/** Finds the repository and organization that own an asset (a stored file). */
const resolveAsset = resolve(
  `${ownerOf('asset a join repository r on r.repository_id = a.repository_id')} where a.asset_id = $1`,
)

/** Finds the owners of the resources of this feature. */
export const owners = {
  repository: resolveRepository,
  package: resolvePackage,
  packageVersion: resolvePackageVersion,
  asset: resolveAsset,
}
