import type { Several } from './sentences/Sentence.tsx'
import { partsOf } from './sentences/sentence.ts'
import type { Entry } from './shared/entry.ts'

/**
 * Entries in one row of a log, newest first: a single entry, entries of one action or job that differ only in their subject, such as the
 * device, or many like acts of one actor (`isAlike`).
 */
export type Group = { entries: readonly [Entry, ...Entry[]]; several?: Several; isAlike?: boolean }

/** Number of like acts from which they share a row. */
const ALIKE_FROM = 4
/** Longest time between the first and the last of the like acts in a row, in milliseconds. */
const ALIKE_WITHIN_MS = 60_000

/**
 * Joins neighbouring entries: those of one action or job whose sentences differ in one subject only, such as the device, and at least
 * `ALIKE_FROM` events of the same kind by the same actor within `ALIKE_WITHIN_MS`, for example renames by a script.
 */
export function groupsOf(entries: readonly Entry[]): Group[] {
  const runs: Group[][] = []
  for (const group of groupsOfActions(entries)) {
    const first = runs.at(-1)?.[0]
    if (first && isAlike(first, group)) runs.at(-1)!.push(group)
    else runs.push([group])
  }
  return runs.flatMap(run => {
    const all = run.flatMap(group => group.entries)
    if (run.length === 1 || all.length < ALIKE_FROM) return run
    return [{ entries: all as [Entry, ...Entry[]], isAlike: true }]
  })
}

/** Whether two single events are like acts. Failures are not, because each has a reason of its own. */
function isAlike(first: Group, group: Group): boolean {
  const [[newer], [older]] = [first.entries, group.entries]
  return (
    first.entries.length === 1 &&
    group.entries.length === 1 &&
    newer.status === undefined &&
    older.status === undefined &&
    newer.event === older.event &&
    JSON.stringify(newer.actor) === JSON.stringify(older.actor) &&
    Date.parse(newer.createdAt) - Date.parse(older.createdAt) < ALIKE_WITHIN_MS
  )
}

/** Joins neighbouring entries of one action or job whose sentences differ in one subject only, such as the device. */
function groupsOfActions(entries: readonly Entry[]): Group[] {
  const groups: Entry[][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (last && isTogether(last[0]!, entry)) last.push(entry)
    else groups.push([entry])
  }
  return groups.flatMap(together => {
    const several = together.length > 1 ? severalIn(together) : undefined
    if (!several) return together.map((entry): Group => ({ entries: [entry] }))
    return [{ entries: together as [Entry, ...Entry[]], several }]
  })
}

/** Id of the action or job that caused an entry. */
export function causeOf({ action, job }: Pick<Entry, 'action' | 'job'>): string | undefined {
  return action?.actionId ?? job?.jobId
}

function isTogether(a: Entry, b: Entry): boolean {
  if (a.status !== undefined || b.status !== undefined || a.event !== b.event) return false
  const cause = causeOf(a)
  return cause !== undefined && cause === causeOf(b) && shapeOf(a) === shapeOf(b)
}

/** The sentence of an entry without the ids of its subjects, as a text to compare. */
function shapeOf(entry: Entry): string {
  return JSON.stringify(partsOf(entry).map(part => (part.kind === 'subject' ? part.field : part.text)))
}

/** The field in which the entries differ, with the number of its values; `undefined` when they differ in none or in several. */
function severalIn(entries: readonly Entry[]): Several | undefined {
  const ids = new Map<string, Set<string>>()
  for (const entry of entries)
    for (const part of partsOf(entry))
      if (part.kind === 'subject') ids.set(part.field, (ids.get(part.field) ?? new Set()).add(part.id))
  const different = [...ids].filter(([, found]) => found.size > 1)
  const [only] = different
  return different.length === 1 && only ? { field: only[0], count: only[1].size } : undefined
}
