import type { ActionOutput } from '@muster/actions/client'

type LogOutput = ActionOutput<'projects_QueryAuditLog'>

/** An entry of a log as the hub returns it: an event, or a failed action. */
export type Entry = LogOutput['events'][number]

/** Objects whose ids occur in entries, by id. */
export type Subjects = NonNullable<LogOutput['subjects']>

/** The newest seal (signed hash of entries) of the log, and the result of the last verification of its seals. */
export type Sealing = NonNullable<LogOutput['sealing']>

/** Fields of an entry from which its sentence is made. */
export type Said = Pick<Entry, 'event' | 'actor' | 'data'> &
  Partial<Pick<Entry, 'old' | 'owners' | 'status' | 'address'>>

/** Whether a person did something to their own account. */
export function isOfOneself({ actor, data }: Said): boolean {
  return 'userId' in actor && actor.userId === data.userId
}

const FAILURES: unknown[] = ['Failed', 'Rejected', 'Panicked']

/** Whether an entry is an action that failed. Events have no status. */
export function isFailure({ status }: Pick<Said, 'status'>): boolean {
  return FAILURES.includes(status)
}
