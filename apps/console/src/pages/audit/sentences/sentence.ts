import { lookUp } from '../../../lib/app/look-up.ts'
import { ACTION_PHRASES } from './action-phrases.ts'
import type { Said } from './entry.ts'
import { EVENT_SENTENCES, type SentenceRow } from './event-sentences.ts'

/** A part of a sentence: text, a value that people chose, a technical value (`code`), or an object with its id. */
export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'value'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'subject'; id: string; field: string; name?: string }

/** Maximum length, in characters, of a value in a sentence. The opened row shows the whole value. */
const MAX_VALUE_CHARS = 120

/** Words for an object whose id is not in the entry, by field. */
const UNNAMED: Record<string, string> = { deviceId: 'a device', userId: 'a person', tokenId: 'a token' }

/**
 * Splits the sentence of an entry, which says what the actor did or could not do, into parts. An event that this version of the console
 * does not know is shown by its name.
 */
export function partsOf(entry: Said): Part[] {
  const isFailure = entry.status !== undefined
  const row = lookUp<SentenceRow | undefined>(
    isFailure ? ACTION_PHRASES : EVENT_SENTENCES,
    entry.event,
    undefined,
  )
  const begin: Part[] = isFailure ? [{ kind: 'text', text: 'could not ' }] : []
  if (!row)
    return [...begin, { kind: 'text', text: isFailure ? 'do ' : 'did ' }, { kind: 'code', text: entry.event }]
  const said = typeof row.say === 'string' ? row.say : row.say(entry)
  return [...begin, ...said.split(/(\{[^}]+\}|\[[^\]]+\]|<[^>]+>)/).flatMap(part => partOf(part, entry))]
}

function partOf(part: string, entry: Said): Part[] {
  if (part === '') return []
  const inside = part.slice(1, -1)
  switch (part[0]) {
    case '{': {
      const [field, nameField] = inside.split(':') as [string, string | undefined]
      const id = valueAt(entry, field)
      if (typeof id !== 'string') return [{ kind: 'text', text: UNNAMED[field] ?? 'something' }]
      const name = nameField === undefined ? undefined : valueAt(entry, nameField)
      return [{ kind: 'subject', id, field, ...(typeof name === 'string' && { name }) }]
    }
    case '[':
      return [{ kind: 'value', text: textOf(valueAt(entry, inside)) }]
    case '<':
      return [{ kind: 'code', text: textOf(valueAt(entry, inside)) }]
    default:
      return [{ kind: 'text', text: part }]
  }
}

function valueAt({ data, old, actor, owners, address }: Said, path: string): unknown {
  const [root, field] = path.split('.') as [string, string | undefined]
  if (field === undefined) return data[root] ?? (owners as Record<string, unknown> | undefined)?.[root]
  const roots: Record<string, object | undefined> = { old, actor, origin: { address } }
  return (roots[root] as Record<string, unknown> | undefined)?.[field]
}

/** Text of a value in a sentence. Texts stay unchanged, other values become JSON, and long texts are truncated. */
function textOf(value: unknown): string {
  const text =
    typeof value === 'string'
      ? value
      : Array.isArray(value)
        ? value.map(textOf).join(', ')
        : value === undefined
          ? '–'
          : (JSON.stringify(value) ?? '–')
  if (text.length <= MAX_VALUE_CHARS) return text
  // Truncates between code points. The first `slice` avoids splitting a text of 1 MiB into its characters.
  return `${[...text.slice(0, 2 * MAX_VALUE_CHARS)].slice(0, MAX_VALUE_CHARS).join('')}…`
}
