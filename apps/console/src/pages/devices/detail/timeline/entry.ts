import type { ActionOutput } from '@muster/actions/client'

/** An entry of a device's timeline. */
export type Entry = ActionOutput<'devices_QueryTimeline'>['entries'][number]
export type EntryOf<T extends Entry['type']> = Extract<Entry, { type: T }>
export type Kind = Entry['kind']
export type Severity = Entry['severity']
