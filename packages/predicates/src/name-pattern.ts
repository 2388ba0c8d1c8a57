import { isLabelKey } from './labels.ts'

/** Longest pattern of names, in characters. */
export const MAX_NAME_PATTERN_LENGTH = 256

/** Part of a pattern of names: its own text, or a placeholder for a value of the device. */
export type NamePatternPart =
  | { kind: 'Text'; text: string }
  | { kind: 'Name' | 'Hostname' | 'DeviceId' }
  | { kind: 'Index'; digits: number }
  | { kind: 'Label'; key: string }

/** Values of a device for the placeholders of a pattern. */
export type NamedDevice = {
  deviceId: string
  name: string | undefined
  hostname: string | undefined
  labels: Readonly<Record<string, string>>
  /** Place of the device in the selection, the first one 1. */
  index: number
}

const PLACEHOLDERS = '{hostname}, {name}, {id}, {index}, {index:3} or {label:KEY}'

/** Why a text is no pattern of names. The column begins with 1 and counts code units. */
export class NamePatternError extends Error {
  readonly column: number
  readonly found: string
  readonly expected: string

  constructor(at: number, found: string, expected: string) {
    super(`column ${at + 1}: found ${found}, expected ${expected}`)
    this.column = at + 1
    this.found = found
    this.expected = expected
  }
}

/** A double bracket, a placeholder, a single bracket, or text without brackets. */
const PART = /(?<double>\{\{|\}\})|\{(?<placeholder>[^{}]*)\}|(?<bracket>[{}])|(?<text>[^{}]+)/g

/**
 * Reads a pattern of names, such as `site-{label:site}-{index}`. `{{` and `}}` stand for brackets. Throws a `NamePatternError` for an unknown
 * placeholder, a bracket without its partner and a pattern that is empty or too long.
 */
export function readNamePattern(pattern: string): NamePatternPart[] {
  if (pattern.trim() === '') throw new NamePatternError(0, 'no text', `text or ${PLACEHOLDERS}`)
  if (pattern.length > MAX_NAME_PATTERN_LENGTH)
    throw new NamePatternError(
      MAX_NAME_PATTERN_LENGTH,
      `${pattern.length} characters`,
      `at most ${MAX_NAME_PATTERN_LENGTH}`,
    )
  return [...pattern.matchAll(PART)].map(({ index, groups = {}, 0: found }): NamePatternPart => {
    const { double, placeholder, bracket, text } = groups
    if (double !== undefined) return { kind: 'Text', text: double.slice(1) }
    if (text !== undefined) return { kind: 'Text', text }
    if (bracket === '{')
      throw new NamePatternError(
        index,
        'a bracket that is not closed',
        `${PLACEHOLDERS}, or {{ for a bracket`,
      )
    if (bracket === '}') throw new NamePatternError(index, 'a bracket that is not opened', '}} for a bracket')
    const part = placeholderOf(placeholder!)
    if (!part) throw new NamePatternError(index, found, PLACEHOLDERS)
    return part
  })
}

const PLAIN: Readonly<Record<string, NamePatternPart>> = {
  hostname: { kind: 'Hostname' },
  name: { kind: 'Name' },
  id: { kind: 'DeviceId' },
  index: { kind: 'Index', digits: 1 },
}

function placeholderOf(text: string): NamePatternPart | undefined {
  if (Object.hasOwn(PLAIN, text)) return PLAIN[text]
  if (text.startsWith('label:')) {
    const key = text.slice('label:'.length)
    return isLabelKey(key) ? { kind: 'Label', key } : undefined
  }
  const digits = /^index:([1-9])$/.exec(text)?.[1]
  return digits === undefined ? undefined : { kind: 'Index', digits: Number(digits) }
}

/** The name that a pattern gives to a device; undefined if the device lacks the value of a placeholder. */
export function nameByPattern(parts: readonly NamePatternPart[], device: NamedDevice): string | undefined {
  let name = ''
  for (const part of parts) {
    const value = partOf(part, device)
    if (value === undefined || value === '') return undefined
    name += value
  }
  return name
}

function partOf(part: NamePatternPart, device: NamedDevice): string | undefined {
  switch (part.kind) {
    case 'Text':
      return part.text
    case 'Name':
      return device.name
    case 'Hostname':
      return device.hostname
    case 'DeviceId':
      return device.deviceId
    case 'Index':
      return String(device.index).padStart(part.digits, '0')
    case 'Label':
      return Object.hasOwn(device.labels, part.key) ? device.labels[part.key] : undefined
  }
}
