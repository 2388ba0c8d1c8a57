import type { ActionOutput } from '@muster/actions/client'
import type { Entry } from '../timeline/entry.ts'
import { type UpdateChange, updateChangeOf } from '../timeline/update-change.ts'

/** Mark of a timeline entry on the time axis. */
export type Mark = {
  look: 'installed' | 'failed' | 'person'
  /** Place on the axis, 0 to 1. */
  place: number
  entry: Entry
  change?: UpdateChange | undefined
}

type Span = { fromMs: number; toMs: number }

/** Marks of installed and failed updates, oldest first. */
export function updateMarks(entries: readonly Entry[], span: Span): Mark[] {
  return inOrder(
    entries.flatMap(entry => {
      const change = updateChangeOf(entry)
      if (change?.what === 'failed') return [markOf('failed', entry, span, change)]
      return change?.what === 'installed' ? [markOf('installed', entry, span, change)] : []
    }),
  )
}

/** Marks of changes by people, oldest first. */
export function personMarks(entries: readonly Entry[], span: Span): Mark[] {
  return inOrder(entries.filter(({ kind }) => kind === 'person').map(entry => markOf('person', entry, span)))
}

function markOf(look: Mark['look'], entry: Entry, { fromMs, toMs }: Span, change?: UpdateChange): Mark {
  return { look, place: (Date.parse(entry.at) - fromMs) / (toMs - fromMs), entry, change }
}

function inOrder(marks: readonly Mark[]): Mark[] {
  return marks.filter(({ place }) => place >= 0 && place <= 1).sort((a, b) => a.place - b.place)
}

/**
 * Groups marks that lie closer together than `minDistance`, a share of the axis. Each group is one link, because neither a pointer nor
 * a thumb could hit its marks one by one.
 */
export function groupsOf(marks: readonly Mark[], minDistance: number): Mark[][] {
  const groups: Mark[][] = []
  for (const mark of marks) {
    const last = groups.at(-1)
    if (last && mark.place - last.at(-1)!.place < minDistance) last.push(mark)
    else groups.push([mark])
  }
  return groups
}

type Change = ActionOutput<'devices_QueryPropertyHistory'>['changes'][number]

/** Converts past values of the update status to entries of the same form as in the timeline. `changes` are newest first. */
export function updateEntries(name: string, changes: readonly Change[]): Entry[] {
  return changes.map((change, index) => {
    const before = changes[index + 1]
    return {
      type: 'property',
      entryId: `${name} ${change.version}`,
      kind: 'property',
      at: change.changedAt,
      severity: 'Info',
      name,
      version: change.version,
      actor: change.actor,
      actorName: change.actorName,
      now: stateOf(change),
      ...(before && { before: stateOf(before) }),
    } as Entry
  })
}

function stateOf({ value, isRemoved, changedAt }: Change) {
  return { value, isRemoved, changedAt, valueBytes: 0 }
}
