import { type AuditEvents, newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import type { Scope } from '../access/scope.ts'
import type { Tx } from '../database/client/connection.ts'
import type { Tables } from '../database/schema.ts'
import { actorId, type Caller, wireActor } from '../pipeline/caller.ts'
import { type Origin, originColumns, storedValues } from './facts.ts'

/** Declaration of an audit event: the fields of its data that hold ids. */
export type EventDeclaration = { ids: readonly string[] }

/** Fields of the data of an event that can hold an id. */
type IdField<Data> = {
  [Key in keyof Data & string]-?: Data[Key] extends string | undefined ? Key : never
}[keyof Data & string]

/**
 * Declares an audit event with the shape of its data, which `npm run gen` copies into `AuditEvents`. `ids` names the fields that hold the
 * id of an object, as the hub knows it. Logs show the names of these objects only. Another field may hold a text that a caller typed, and
 * nothing shows whose id it looks like.
 */
export function event<Data extends object>(declaration: { ids: readonly IdField<Data>[] }): EventDeclaration {
  return declaration
}

const idFields: Record<string, readonly string[]> = {}
const everyIdField = new Set<string>()

/** Adds the events that a feature declares. */
export function registerEvents(events: Record<string, EventDeclaration>): void {
  for (const [name, { ids }] of Object.entries(events)) {
    idFields[name] = ids
    for (const id of ids) everyIdField.add(id)
  }
}

/** Fields of the data of an event that hold ids. Empty for an event that the hub does not know. */
export function idFieldsOf(event: string): readonly string[] {
  return Object.hasOwn(idFields, event) ? idFields[event]! : []
}

/** Fields with ids of all events. */
export function allIdFields(): ReadonlySet<string> {
  return everyIdField
}

/** Options of an event. */
export type EventOptions = {
  /** False keeps the event out of the log of the repository whose id is in the event's data. The default is true. */
  isForRepository?: boolean
  /** Owners of the object that are not in the scope of the transaction, for example because the transaction created them. */
  scope?: Scope
  /** Actor, if the transaction had to find out who it is. */
  caller?: Caller
  /** Origin, if the transaction serves several requests. */
  origin?: Origin
  /**
   * Values before the change. Each key is the field of the event's data that has the new value. After a deletion: fields of the deleted
   * object.
   */
  old?: Record<string, unknown> | undefined
}

/** Caller, scope and origin of events, and the action or job that caused them. */
export type Cause = {
  caller: Caller
  scope: Scope
  origin?: Origin | undefined
  actionId?: string | undefined
  jobId?: string | undefined
}

/** Data of an event, with its options. */
export type EventData<E extends keyof AuditEvents> = EventOptions & { data: AuditEvents[E] }

/**
 * Inserts an audit event for each of several objects that one change affects, with one statement, in the transaction of that change. Called
 * by `commandTransaction`, which also notifies open logs.
 */
export async function recordEvents<E extends keyof AuditEvents>(
  tx: Tx,
  cause: Cause,
  event: E,
  of: readonly EventData<E>[],
): Promise<void> {
  if (of.length === 0) return
  const rows = JSON.stringify(of.map(one => rowOf(cause, event, one)))
  // The text is the same for any number of rows, so it is prepared once. `clock_timestamp()` keeps the order of events in one transaction,
  // where `now()` is constant.
  await sql`
    insert into audit_event (event_id, event, actor, actor_id, data, old_data, action_id, job_id, user_id, organization_id, project_id,
                             repository_id, device_id, address, browser, created_at)
    select event_id, event, actor::jsonb, actor_id, data::jsonb, old_data::json, action_id, job_id, user_id, organization_id, project_id,
           repository_id, device_id, address, browser, clock_timestamp()
      from json_to_recordset(${rows}::json)
        as e (event_id text, event text, actor text, actor_id text, data text, old_data text, action_id text, job_id text, user_id text,
              organization_id text, project_id text, repository_id text, device_id text, address text, browser text)`.execute(
    tx,
  )
}

/** Row of `audit_event`, without its time. */
function rowOf<E extends keyof AuditEvents>(
  cause: Cause,
  event: E,
  { data, old, isForRepository = true, scope, caller = cause.caller, origin = cause.origin }: EventData<E>,
): Partial<Record<keyof Tables['audit_event'], string | null | undefined>> {
  const ids: Partial<
    Record<'userId' | 'organizationId' | 'projectId' | 'repositoryId' | 'deviceId', string>
  > = { ...cause.scope, ...scope, ...data }
  return {
    event_id: newDatedId('audit_ev'),
    event,
    actor: JSON.stringify(wireActor(caller)),
    actor_id: actorId(caller),
    data: JSON.stringify(data),
    old_data: storedValues(old),
    action_id: cause.actionId,
    job_id: cause.jobId,
    user_id: ids.userId,
    organization_id: ids.organizationId,
    project_id: ids.projectId,
    repository_id: isForRepository ? ids.repositoryId : null,
    device_id: ids.deviceId,
    ...originColumns(caller, origin),
  }
}
