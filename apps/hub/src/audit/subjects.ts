import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/client/connection.ts'
import type { LogOf } from './log-scope.ts'

/** Object that log entries refer to by id, such as a person, a device or a project. */
export type Subject = {
  /** Current name, or the last name of a deleted device. Absent for an object without a name. */
  name?: string
  /** Host name of a device. */
  hostname?: string
  /** Ids that a link to the object needs. */
  organizationId?: string
  projectId?: string
  repositoryId?: string
  packageId?: string
  /** True if the object no longer exists. */
  isDeleted?: true
}

type SubjectRow = { [Key in keyof Subject]: Subject[Key] | null } & { id: string }

type Entry = {
  status: string | null
  actor: unknown
  data: unknown
  device_id: string | null
  project_id: string | null
  repository_id: string | null
}

/** Maximum number of ids that are looked up for one entry. Entries that the hub writes have fewer. */
const MAX_IDS_PER_ENTRY = 12

const ID = /^((?:[a-z]+_)+)[1-9A-HJ-NP-Za-km-z]{22}$/

/**
 * Looks up the objects whose ids occur in the data of entries. In the log of an organization, ids of other tenants are not resolved. The
 * ids in a failed action come from its caller, so a person among them is resolved only as a member of the organization.
 */
export async function findSubjects(
  db: Db,
  entries: readonly Entry[],
  of: LogOf | undefined,
): Promise<Record<string, Subject>> {
  const byPrefix = new Map<string, Set<string>>()
  const untrustedPeople = new Set<string>()
  for (const entry of entries) {
    for (const id of idsIn(entry)) {
      const prefix = ID.exec(id)![1]!.slice(0, -1)
      if (prefix === 'u' && entry.status !== null) untrustedPeople.add(id)
      else byPrefix.set(prefix, (byPrefix.get(prefix) ?? new Set()).add(id))
    }
  }
  const ids = (prefix: string): string[] => [...(byPrefix.get(prefix) ?? [])]
  const parts = [
    ...Object.entries(lookUps(of?.scope.organizationId)).flatMap(([prefix, look]) =>
      byPrefix.has(prefix) ? [look(ids(prefix))] : [],
    ),
    ...(untrustedPeople.size > 0 ? [people([...untrustedPeople], of?.scope.organizationId)] : []),
  ]
  if (parts.length === 0) return {}
  const { rows } = await sql<SubjectRow>`${sql.join(parts, sql` union all `)}`.execute(db)
  const subjects = Object.fromEntries(rows.map(({ id, ...subject }) => [id, withoutNulls(subject)]))
  const missing = ids('d').filter(id => !Object.hasOwn(subjects, id))
  return missing.length === 0 ? subjects : { ...(await deletedDevices(db, missing, of)), ...subjects }
}

function idsIn({ data, actor, device_id, project_id, repository_id }: Entry): string[] {
  const values = [...Object.values(data as object), ...Object.values(actor as object)]
  return [...values, device_id, project_id, repository_id]
    .filter((value): value is string => typeof value === 'string' && ID.test(value))
    .slice(0, MAX_IDS_PER_ENTRY)
}

type LookUp = (ids: string[]) => RawBuilder<unknown>

/** SQL columns of a `SubjectRow`. Columns that are not given are null. */
function subject(
  id: RawBuilder<unknown>,
  name: RawBuilder<unknown>,
  {
    hostname = NULL,
    organization = NULL,
    project = NULL,
    repository = NULL,
    pack = NULL,
  }: Partial<Columns> = {},
): RawBuilder<unknown> {
  return sql`${id} as id, ${name} as name, ${hostname} as hostname, ${organization} as "organizationId",
    ${project} as "projectId", ${repository} as "repositoryId", ${pack} as "packageId"`
}
type Columns = Record<'hostname' | 'organization' | 'project' | 'repository' | 'pack', RawBuilder<unknown>>
const NULL = sql`null::text`

/** Look-ups by the prefix of the ids. With `organizationId` they find only objects that this organization may see. */
function lookUps(organizationId: string | undefined): Record<string, LookUp> {
  const own = (column: RawBuilder<unknown>): RawBuilder<unknown> =>
    organizationId === undefined ? sql`true` : sql`${column} = ${organizationId}`
  const readable =
    organizationId === undefined
      ? sql`true`
      : sql`(r.organization_id = ${organizationId} or r.visibility = 'Public')`
  const inRepository = { organization: sql`r.organization_id`, repository: sql`r.repository_id` }
  const inProject = { organization: sql`p.organization_id`, project: sql`p.project_id` }
  return {
    u: ids => sql`select ${subject(sql`u.user_id`, PERSON)} from "user" u where u.user_id = any(${ids})`,
    u_pk: ids =>
      sql`select ${subject(sql`t.token_id`, sql`t.name`)} from user_token t where t.token_id = any(${ids})`,
    org: ids => sql`
      select ${subject(sql`o.organization_id`, sql`o.name`, { organization: sql`o.organization_id` })}
        from organization o where o.organization_id = any(${ids}) and ${own(sql`o.organization_id`)}`,
    org_invite: ids => sql`
      select ${subject(sql`i.invitation_id`, sql`i.email`, { organization: sql`i.organization_id` })}
        from organization_invitation i where i.invitation_id = any(${ids}) and ${own(sql`i.organization_id`)}`,
    p: ids => sql`
      select ${subject(sql`p.project_id`, sql`p.name`, inProject)}
        from project p where p.project_id = any(${ids}) and ${own(sql`p.organization_id`)}`,
    d: ids => sql`
      select ${subject(sql`d.device_id`, sql`d.name`, { ...inProject, hostname: sql`nullif(d.hostname, '')` })}
        from device d join project p on p.project_id = d.project_id
       where d.device_id = any(${ids}) and ${own(sql`p.organization_id`)}`,
    d_c: ids => sql`
      select ${subject(sql`c.certificate_id`, sql`c.fingerprint`)}
        from device_certificate c join device d on d.device_id = c.device_id
        join project p on p.project_id = d.project_id
       where c.certificate_id = any(${ids}) and ${own(sql`p.organization_id`)}`,
    deployment_id: ids => sql`
      select ${subject(sql`t.token_id`, sql`t.name`, inProject)}
        from deployment_token t join project p on p.project_id = t.project_id
       where t.token_id = any(${ids}) and ${own(sql`p.organization_id`)}`,
    repo: ids => sql`
      select ${subject(sql`r.repository_id`, sql`r.display_name`, inRepository)}
        from repository r where r.repository_id = any(${ids}) and ${readable}`,
    pkg: ids => sql`
      select ${subject(sql`k.package_id`, sql`k.name`, { ...inRepository, pack: sql`k.package_id` })}
        from package k join repository r on r.repository_id = k.repository_id
       where k.package_id = any(${ids}) and ${readable}`,
    pkg_v: ids => sql`
      select ${subject(sql`v.version_id`, sql`k.name || coalesce(' ' || v.name, '')`, { ...inRepository, pack: sql`k.package_id` })}
        from package_version v join package k on k.package_id = v.package_id
        join repository r on r.repository_id = k.repository_id
       where v.version_id = any(${ids}) and ${readable}`,
  }
}

const PERSON = sql`coalesce(nullif(u.display_name, ''), u.email)`

/** Look-up of people: only members of the organization, or everybody in the log of the instance. */
function people(ids: string[], organizationId: string | undefined): RawBuilder<unknown> {
  return organizationId === undefined
    ? sql`select ${subject(sql`u.user_id`, PERSON)} from "user" u where u.user_id = any(${ids})`
    : sql`
      select ${subject(sql`u.user_id`, PERSON)}
        from "user" u join organization_member m on m.user_id = u.user_id
       where u.user_id = any(${ids}) and m.organization_id = ${organizationId}`
}

/** Names of deleted devices, from the events of their deletion. */
async function deletedDevices(
  db: Db,
  ids: string[],
  of: LogOf | undefined,
): Promise<Record<string, Subject>> {
  const { rows } = await sql<{ id: string; old: { parse(): unknown } | null }>`
    select a.device_id as id, a.old_data as old
      from audit_event a
     where a.device_id = any(${ids}) and a.event = 'devices_Deleted'
       and ${of ? sql`a.organization_id = ${of.scope.organizationId}` : sql`true`}`.execute(db)
  return Object.fromEntries(
    rows.map(({ id, old }) => {
      const { name, hostname } = (old?.parse() ?? {}) as { name?: unknown; hostname?: unknown }
      return [
        id,
        {
          isDeleted: true,
          ...(typeof name === 'string' && { name }),
          ...(typeof hostname === 'string' && { hostname }),
        },
      ]
    }),
  )
}

function withoutNulls(row: object): Subject {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
}
