import { type AuditEvents, newDatedId } from '@muster/actions'
import { sql } from 'kysely'
import type { Scope } from '../access/scope.ts'
import type { Tx } from '../database/client/connection.ts'
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
  /**
   * Values before the change. Each key is the field of the event's data that has the new value. After a deletion: fields of the deleted
   * object.
   */
  old?: Record<string, unknown>
}

/** Caller, scope and origin of events, and the action or job that caused them. */
export type Cause = {
  caller: Caller
  scope: Scope
  origin?: Origin | undefined
  actionId?: string | undefined
  jobId?: string | undefined
}

/** Data of an event, and the values before the change. */
export type EventData<E extends keyof AuditEvents> = {
  data: AuditEvents[E]
  old?: EventOptions['old'] | undefined
}

/**
 * Inserts an audit event for each of several objects that one change affects, with one statement, in the transaction of that change. Called
 * by `commandTransaction`, which also notifies open logs.
 */
export async function recordEvents<E extends keyof AuditEvents>(
  tx: Tx,
  { caller, scope, origin, actionId, jobId }: Cause,
  event: E,
  of: readonly EventData<E>[],
  { isForRepository = true, scope: further, caller: actor = caller }: EventOptions = {},
): Promise<void> {
  if (of.length === 0) return
  const shared = {
    event,
    actor: JSON.stringify(wireActor(actor)),
    actor_id: actorId(actor),
    action_id: actionId ?? null,
    job_id: jobId ?? null,
    ...originColumns(actor, origin),
    // `clock_timestamp()` keeps the order of events in one transaction, where `now()` is constant.
    created_at: sql<Date>`clock_timestamp()` as never,
  }
  const rows = of.map(({ data, old }) => {
    const ids: Partial<
      Record<'userId' | 'organizationId' | 'projectId' | 'repositoryId' | 'deviceId', string>
    > = { ...scope, ...further, ...data }
    return {
      ...shared,
      event_id: newDatedId('audit_ev'),
      data: JSON.stringify(data),
      user_id: ids.userId ?? null,
      organization_id: ids.organizationId ?? null,
      project_id: ids.projectId ?? null,
      repository_id: isForRepository ? (ids.repositoryId ?? null) : null,
      device_id: ids.deviceId ?? null,
      old_data: storedValues(old),
    }
  })
  await tx.insertInto('audit_event').values(rows).execute()
}
