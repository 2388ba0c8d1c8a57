import { Ban, CircleQuestionMark, OctagonAlert, Trash2 } from 'lucide-react'
import { lookUp } from '../../../lib/app/look-up.ts'
import type { IconType } from '../../../ui/icon.ts'
import { isFailure, type Said } from '../shared/entry.ts'
import { ACTION_PHRASES } from './action-phrases.ts'
import { EVENT_SENTENCES } from './event-sentences.ts'
import { KINDS, type Kind } from './kinds.ts'

const ROWS = { ...ACTION_PHRASES, ...EVENT_SENTENCES }

/** Icon of an event or action; a question mark for a name that this console does not know. */
export function iconOf(name: string): IconType {
  const { kind } = lookUp<{ kind: Kind | undefined }>(ROWS, name, { kind: undefined })
  return kind ? KINDS[kind].icon : CircleQuestionMark
}

/** Icon of an entry. Failures, deletions and refusals have icons of their own. */
export function entryIcon(entry: Said): IconType {
  const { event, data } = entry
  if (isFailure(entry)) return OctagonAlert
  if (/(Deleted|Removed)$|_(Delete|Remove)/.test(event)) return Trash2
  return data.status === 'Revoked' || data.status === 'Rejected' ? Ban : iconOf(event)
}

/** Names of the events and actions of a kind, because the hub's query filters by names and not by kind. */
export function namesOf(kind: Kind): string[] {
  return [EVENT_SENTENCES, ACTION_PHRASES].flatMap(table =>
    Object.entries(table).flatMap(([name, row]) => (row.kind === kind ? [name] : [])),
  )
}
