import { lookUp } from '../../../lib/app/look-up.ts'
import { isFailure, type Said } from '../shared/entry.ts'
import type { SentenceRow } from '../shared/sentence-row.ts'
import { ACTION_PHRASES } from './action-phrases.ts'
import { EVENT_SENTENCES } from './event-sentences.ts'

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
 * Splits the sentence of an entry, which says what the actor did or could not do, into parts. An event or action that this version of the
 * console does not know is shown by its name.
 */
export function partsOf(entry: Said): Part[] {
  const isAction = entry.status !== undefined
  const row = lookUp<SentenceRow>(isAction ? ACTION_PHRASES : EVENT_SENTENCES, entry.event, {
    kind: 'device',
    say: isAction ? 'do <event>' : 'did <event>',
  })
  const phrase = typeof row.say === 'string' ? row.say : row.say(entry)
  const said = isAction ? withOutcome(phrase, entry) : phrase
  return said.split(/(\{[^}]+\}|\[[^\]]+\]|<[^>]+>)/).flatMap(part => partOf(part, entry))
}

/** The phrase of an action with its outcome: "could not delete …", "deleted …", and "tried to delete …" while the outcome is open. */
function withOutcome(phrase: string, entry: Said): string {
  if (isFailure(entry)) return `could not ${phrase}`
  return entry.status === 'Succeeded' ? inPast(phrase) : `tried to ${phrase}`
}

/** The phrase with its verb, which is the first word, in the past tense. */
function inPast(phrase: string): string {
  const verb = /^\w+/.exec(phrase)?.[0] ?? ''
  const past = lookUp(IRREGULAR, verb, verb.endsWith('e') ? `${verb}d` : `${verb}ed`)
  return `${past}${phrase.slice(verb.length)}`
}

const IRREGULAR: Record<string, string> = {
  cancel: 'cancelled',
  retry: 'retried',
  do: 'did',
  set: 'set',
  tag: 'tagged',
  withdraw: 'withdrew',
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

function valueAt({ event, data, old, actor, owners, address }: Said, path: string): unknown {
  if (path === 'event') return event
  const [root, field] = path.split('.') as [string, string | undefined]
  if (field === undefined) return data[root] ?? (owners as Record<string, unknown> | undefined)?.[root]
  const roots: Record<string, object | undefined> = { old, actor, origin: { address } }
  return (roots[root] as Record<string, unknown> | undefined)?.[field]
}

/** Text of a value in a sentence: strings unchanged, arrays with commas, other values as JSON. A long text is truncated. */
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
