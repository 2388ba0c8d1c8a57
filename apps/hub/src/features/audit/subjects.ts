import { findAction } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'
import { allIdFields, idFieldsOf } from '../../platform/audit/events.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import type { LogOf } from './log-scope.ts'
import { SHOWN_NAME } from './shown-name.ts'

/** Object that log entries refer to by id, such as a person, a device or a project. */
export type Subject = {
  /** Current name. For a deleted object, the name that it had when it was deleted, if the log has the event of the deletion. */
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
  /** Name of the event, or of the action. */
  name: string
  status: string | null
  actor: unknown
  data: unknown
  device_id: string | null
  project_id: string | null
  repository_id: string | null
}

/** Maximum number of ids that are looked up for one entry. Entries that the hub writes have fewer. */
const MAX_IDS_PER_ENTRY = 12

/**
 * Maximum number of an object's newest events that are read to find its deletion. The deletion is among the last events of an object,
 * whose whole history may have millions of events.
 */
const MAX_EVENTS_READ = 200

const ID = /^((?:[a-z]+_)+)[1-9A-HJ-NP-Za-km-z]{22}$/

/**
 * Looks up the objects whose ids occur in entries, in fields that events and actions declare as ids. In the log of an organization, ids of
 * other tenants are not resolved. The ids in the data of a failed action were chosen by its caller, who must not find out which foreign ids
 * exist. So people among these ids are resolved only if they are members of the organization, and an object is shown as deleted only if the
 * log has its deletion.
 */
export async function findSubjects(
  db: Db,
  entries: readonly Entry[],
  of: LogOf | undefined,
): Promise<Record<string, Subject>> {
  const byPrefix = new Map<string, Set<string>>()
  const untrustedPeople = new Set<string>()
  const trusted = new Set<string>()
  for (const entry of entries) {
    for (const { id, isTrusted } of idsIn(entry)) {
      const prefix = ID.exec(id)![1]!.slice(0, -1)
      if (isTrusted) trusted.add(id)
      if (prefix === 'u' && !isTrusted) untrustedPeople.add(id)
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
  const missing = Object.entries(deletions(of)).flatMap(([prefix, deletion]) => {
    const found = prefix === 'u' ? [...ids(prefix), ...untrustedPeople] : ids(prefix)
    const absent = found.filter(id => !Object.hasOwn(subjects, id))
    return absent.length > 0 ? [former(absent, deletion, of)] : []
  })
  return missing.length === 0 ? subjects : { ...(await deletedSubjects(db, missing, trusted)), ...subjects }
}

/**
 * Names of the fields of an entry's data that hold ids. Events and actions of another release have none. All other fields may hold any text
 * that a caller typed, such as a name, which must not be resolved even if it looks like an id.
 */
function idFieldsIn({ name, status }: Entry): readonly string[] {
  if (status === null) return idFieldsOf(name)
  // In the data of actions, fields that an event declares as ids are ids too.
  const fields = allIdFields()
  return findAction(name)?.action.audit.filter(field => fields.has(field)) ?? []
}

/**
 * Ids in an entry. `isTrusted` is false for ids in the data of an action that has not succeeded: these may belong to objects that never
 * existed or that its caller may not see.
 */
function idsIn(entry: Entry): { id: string; isTrusted: boolean }[] {
  const { data, actor, device_id, project_id, repository_id, status } = entry
  const isId = (value: unknown): value is string => typeof value === 'string' && ID.test(value)
  return [
    ...[...Object.values(actor as object), device_id, project_id, repository_id]
      .filter(isId)
      .map(id => ({ id, isTrusted: true })),
    ...idFieldsIn(entry)
      .map(field => (data as Record<string, unknown>)[field])
      .filter(isId)
      .map(id => ({ id, isTrusted: status === null || status === 'Succeeded' })),
  ].slice(0, MAX_IDS_PER_ENTRY)
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
    u: ids => sql`select ${subject(sql`u.user_id`, SHOWN_NAME)} from "user" u where u.user_id = any(${ids})`,
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

/** Look-up of people: only members of the organization, or everybody in the log of the instance. */
function people(ids: string[], organizationId: string | undefined): RawBuilder<unknown> {
  return organizationId === undefined
    ? sql`select ${subject(sql`u.user_id`, SHOWN_NAME)} from "user" u where u.user_id = any(${ids})`
    : sql`
      select ${subject(sql`u.user_id`, SHOWN_NAME)}
        from "user" u join organization_member m on m.user_id = u.user_id
       where u.user_id = any(${ids}) and m.organization_id = ${organizationId}`
}

/** How deletions of a kind of objects are found: table and key of the objects, name of the event, and SQL (`read`) that finds events. */
type Deletion = {
  table: string
  key: string
  event: string
  read: (id: RawBuilder<unknown>) => RawBuilder<unknown>
}

/**
 * Kinds of objects that can be deleted, by the prefix of their ids. The log of an organization has no deletions of accounts, so the removal
 * of the member is read instead.
 */
function deletions(of: LogOf | undefined): Record<string, Deletion> {
  const byColumn =
    (column: string) =>
    (id: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`${sql.ref(`a.${column}`)} = ${id} order by a.created_at desc limit ${MAX_EVENTS_READ}`
  const byData =
    (field: string) =>
    (id: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`a.data @> jsonb_build_object(${field}::text, ${id}) offset 0`
  const keyed = (table: string, key: string, event: string): Deletion => ({
    table,
    key,
    event,
    read: byColumn(key),
  })
  return {
    u: keyed('user', 'user_id', of ? 'organizations_MemberRemoved' : 'users_Deleted'),
    u_pk: { table: 'user_token', key: 'token_id', event: 'users_TokenDeleted', read: byData('tokenId') },
    org: keyed('organization', 'organization_id', 'organizations_Deleted'),
    p: keyed('project', 'project_id', 'projects_Deleted'),
    d: keyed('device', 'device_id', 'devices_Deleted'),
    deployment_id: {
      table: 'deployment_token',
      key: 'token_id',
      event: 'projects_DeploymentTokenDeleted',
      read: byData('tokenId'),
    },
    repo: keyed('repository', 'repository_id', 'repositories_Deleted'),
    pkg: {
      table: 'package',
      key: 'package_id',
      event: 'repositories_PackageDeleted',
      read: byData('packageId'),
    },
    pkg_v: {
      table: 'package_version',
      key: 'version_id',
      event: 'repositories_PackageVersionDeleted',
      read: byData('versionId'),
    },
  }
}

/**
 * SQL that selects the ids whose object no longer exists, each with the last values of the object if the log has the event of its deletion.
 * `limit` and `offset 0` make PostgreSQL read only events about the object. Otherwise it may read all events of this name by time.
 */
function former(ids: string[], { table, key, event, read }: Deletion, of: LogOf | undefined) {
  return sql`
    select i.id, e.last
      from unnest(${ids}::text[]) as i (id)
      left join lateral (
        select coalesce(found.old_data, found.data::json) as last from (
          select a.created_at, a.event, a.organization_id, a.old_data, a.data from audit_event a
           where ${read(sql`i.id`)}
        ) found
         where found.event = ${event}
           and ${of ? sql`found.organization_id = ${of.scope.organizationId}` : sql`true`}
         order by found.created_at desc limit 1
      ) e on true
     where not exists (select from ${sql.table(table)} t where ${sql.ref(`t.${key}`)} = i.id)`
}

/** Deleted objects with the names that they had. An id that is not `trusted` is included only if the log has the deletion of its object. */
async function deletedSubjects(
  db: Db,
  parts: RawBuilder<unknown>[],
  trusted: ReadonlySet<string>,
): Promise<Record<string, Subject>> {
  const { rows } = await sql<{ id: string; last: { parse(): unknown } | null }>`
    ${sql.join(parts, sql` union all `)}`.execute(db)
  return Object.fromEntries(
    rows
      .filter(({ id, last }) => last !== null || trusted.has(id))
      .map(({ id, last }) => {
        const { name: ownName, email, hostname } = (last?.parse() ?? {}) as Record<string, unknown>
        const name = ownName ?? email
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
