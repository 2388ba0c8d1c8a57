import type { Entry } from './sentences/entry.ts'
import type { Several } from './sentences/Sentence.tsx'
import { partsOf } from './sentences/sentence.ts'

/**
 * Entries in one row of a log, newest first: a single entry, or entries of one action or job that differ only in their subject, such as the
 * device.
 */
export type Group = { entries: readonly [Entry, ...Entry[]]; several?: Several }

/** Joins neighbouring entries of one action or job whose sentences differ in one subject only, such as the device. */
export function groupsOf(entries: readonly Entry[]): Group[] {
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
