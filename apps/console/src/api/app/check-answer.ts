import { ActionError } from '@muster/actions/client'
import { setAnswerCheck } from '../client.ts'
import { REQUIRED_MEMBERS as FIRST } from './required-members.ts'

/** Required members of an object by name (`members`), those of a list's items (`items`), or undefined for a value that is not looked into. */
type Shape = { kind: '{' | '['; members: Member[] } | undefined
type Member = { name: string; isRequired: boolean; shape: Shape }

const shapes = new Map<string, Shape>()

/**
 * Checks all answers from now on: a query whose answer lacks a member fails with a sentence that names it, like a query that the hub refuses.
 * The page then says what it could not load and shows the rest. The members of rarer queries are loaded beside the first of them; if that
 * fails, the answer is not checked.
 */
export function checkAnswers() {
  setAnswerCheck(async name => {
    const members = name in FIRST ? FIRST : await loadLater()
    return answer => {
      const missing = missingMember(members[name], answer)
      if (missing === undefined) return
      throw new ActionError('Internal', `The answer of the hub lacks ${missing} (${name}).`, { status: 200 })
    }
  })
}

function loadLater(): Promise<typeof FIRST> {
  return import('../lazy/required-members.ts').then(
    ({ REQUIRED_MEMBERS }) => REQUIRED_MEMBERS,
    () => ({}),
  )
}

/** Path of a member that an answer lacks, such as `devices[3].status`. `text` is the query's text of `REQUIRED_MEMBERS`. */
export function missingMember(text: string | undefined, answer: unknown): string | undefined {
  if (text === undefined) return undefined
  if (!shapes.has(text)) shapes.set(text, shapeIn(text))
  return missingIn(shapes.get(text), answer, '')
}

function missingIn(shape: Shape, value: unknown, path: string): string | undefined {
  if (!shape) return undefined
  const isList = shape.kind === '['
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== isList)
    return `${path || 'an object'}`
  if (!isList) return missingOf(shape.members, value, path)
  if (shape.members.length === 0) return undefined
  for (const [index, item] of (value as unknown[]).entries()) {
    const at = `${path}[${index}]`
    if (typeof item !== 'object' || item === null) return at
    const missing = missingOf(shape.members, item, at)
    if (missing !== undefined) return missing
  }
  return undefined
}

function missingOf(members: readonly Member[], value: object, path: string): string | undefined {
  for (const { name, isRequired, shape } of members) {
    const at = path ? `${path}.${name}` : name
    const member = (value as Record<string, unknown>)[name]
    if (member === undefined || (member === null && !isRequired)) {
      if (isRequired) return at
      continue
    }
    const missing = missingIn(shape, member, at)
    if (missing !== undefined) return missing
  }
  return undefined
}

/** Reads a text of `REQUIRED_MEMBERS`. */
function shapeIn(text: string): Shape {
  // A name with an optional question mark, an opening or a closing bracket.
  const tokens = text.match(/\w+\??|[[\]{}]/g) ?? []
  let at = 0
  const shape = (): Shape => {
    const kind = tokens[at]
    if (kind !== '{' && kind !== '[') return undefined
    at++
    const members: Member[] = []
    while (at < tokens.length && !/[\]}]/.test(tokens[at]!)) {
      const name = tokens[at++]!
      members.push({ name: name.replace('?', ''), isRequired: !name.endsWith('?'), shape: shape() })
    }
    at++
    return { kind, members }
  }
  return shape()
}
