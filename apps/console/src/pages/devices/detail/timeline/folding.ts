import { OTA_STATUS } from '../property-names.ts'
import type { Entry, EntryOf } from './entry.ts'
import { updateChangeOf } from './update-change.ts'

/** Minimum number of consecutive changes of a property that are folded into one line. */
const FOLD_FROM = 4

/** Longest time between the first and the last of the like acts in a line, in milliseconds. */
const ALIKE_WITHIN_MS = 60_000

/**
 * A line of a timeline: an entry, several consecutive changes of the same property, newest first, or several like acts of one actor, such as
 * renames by a script.
 */
type Line =
  | { type: 'entry'; entry: Entry }
  | { type: 'run'; name: string; entries: EntryOf<'property'>[] }
  | { type: 'acts'; entries: EntryOf<'audit'>[] }

/** A day of a timeline. `entries` has all entries of the day, including entries without a line of their own. */
export type Day = { day: string; lines: Line[]; entries: Entry[] }

/**
 * Groups entries, newest first, into days and lines. The entry for the beginning of an update is left out if its result is shown.
 * Consecutive changes of one property by the device become one line, and like acts of one actor within 60 s. A change of a property by a
 * person is always a line of its own.
 */
export function daysOf(entries: readonly Entry[], dayOf: (ms: number) => string): Day[] {
  const days: Day[] = []
  for (const [index, entry] of entries.entries()) {
    const day = dayOf(Date.parse(entry.at))
    if (days.at(-1)?.day !== day) days.push({ day, lines: [], entries: [] })
    const { lines, entries: ofDay } = days.at(-1)!
    ofDay.push(entry)
    if (!isFolded(entries, index)) lines.push({ type: 'entry', entry })
  }
  return days.map(day => ({ ...day, lines: withActs(withRuns(day.lines)) }))
}

/** Whether an entry is the beginning of an update whose result is listed above it. */
function isFolded(entries: readonly Entry[], index: number): boolean {
  const entry = entries[index]!
  if (entry.kind !== 'property' || updateChangeOf(entry)?.what !== 'begun') return false
  const later = entries.slice(0, index).findLast(one => one.type === 'property' && one.name === OTA_STATUS)
  const change = later && updateChangeOf(later)
  return (
    change !== undefined &&
    change.startedAt === (entry as EntryOf<'property'>).now.changedAt &&
    (change.what === 'failed' || change.what === 'installed')
  )
}

function withRuns(lines: readonly Line[]): Line[] {
  const folded: Line[] = []
  let run: EntryOf<'property'>[] = []
  const end = () => {
    if (run.length >= FOLD_FROM) folded.push({ type: 'run', name: run[0]!.name, entries: run })
    else folded.push(...run.map(entry => ({ type: 'entry' as const, entry })))
    run = []
  }
  for (const line of lines) {
    const entry = line.type === 'entry' ? line.entry : undefined
    const isPart = entry?.type === 'property' && entry.kind === 'property' && entry.severity === 'Info'
    if (!isPart || (run.length > 0 && run[0]!.name !== entry.name)) end()
    if (isPart && updateChangeOf(entry) === undefined) run.push(entry)
    else {
      end()
      folded.push(line)
    }
  }
  end()
  return folded
}

function withActs(lines: readonly Line[]): Line[] {
  const runs: Line[][] = []
  for (const line of lines) {
    const first = runs.at(-1)?.[0]
    if (first && isAlike(actOf(first), actOf(line))) runs.at(-1)!.push(line)
    else runs.push([line])
  }
  return runs.flatMap(run =>
    run.length < FOLD_FROM ? run : [{ type: 'acts', entries: run.flatMap(line => actOf(line) ?? []) }],
  )
}

function actOf(line: Line): EntryOf<'audit'> | undefined {
  return line.type === 'entry' && line.entry.type === 'audit' ? line.entry : undefined
}

function isAlike(newer: EntryOf<'audit'> | undefined, older: EntryOf<'audit'> | undefined): boolean {
  return (
    newer !== undefined &&
    newer.event === older?.event &&
    JSON.stringify(newer.actor) === JSON.stringify(older.actor) &&
    Date.parse(newer.at) - Date.parse(older.at) < ALIKE_WITHIN_MS
  )
}

/** A sentence about a day: failed and installed updates, and how long the device was not connected. */
export function sentenceOfDay(
  { entries }: Day,
  hasAllKinds: boolean,
  inWords: (secs: number) => string,
): string {
  const changes = entries.flatMap(entry => updateChangeOf(entry) ?? [])
  const failed = changes.filter(({ what }) => what === 'failed').length
  const installed = changes.filter(({ what }) => what === 'installed').flatMap(({ version }) => version ?? [])
  const offlineSecs = entries.reduce(
    (sum, entry) => sum + (entry.type === 'connected' ? (entry.offlineSecs ?? 0) : 0),
    0,
  )
  const isSteady = entries.every(({ type, isConnected }) => isConnected === true && type !== 'connected')
  return [
    failed > 0 ? `${failed} ${failed === 1 ? 'update' : 'updates'} failed` : '',
    installed.length > 0 ? `${[...new Set(installed)].slice(0, 3).join(', ')} installed` : '',
    !hasAllKinds
      ? ''
      : offlineSecs > 0
        ? `not connected for ${inWords(offlineSecs)}`
        : isSteady
          ? 'connected all day'
          : '',
  ]
    .filter(part => part !== '')
    .join(', ')
}
