import type { Json, JsonMutation, JsonPath } from './expr.ts'

/** Longest list that a mutation makes or changes. */
const MAX_ELEMENTS = 10_000

/** Result of a mutation: the new value, or why the value cannot be changed like this. */
type Changed = { value: Json } | { reason: string }

/**
 * Changes a part of a value, and leaves the value itself as it is. `given` is the value of the expression of the mutation. Objects on the
 * way to the part are made where they are missing; an element of a list may be replaced, or appended at its end. Removing what is not there
 * changes nothing. Parts of `value` that are not changed are taken over as they are, so they may be any objects.
 */
export function changedAt(
  value: Json | undefined,
  { mutation, path }: JsonMutation,
  given: Json = null,
): Changed {
  try {
    if (mutation === 'Remove') {
      if (path.length === 0) return { reason: 'a removal needs a path' }
      return value === undefined ? { reason: 'there is no value' } : { value: removed(value, path) }
    }
    return {
      value: replaced(value, path, 0, old => (mutation === 'Set' ? given : merged(old, given))),
    }
  } catch (error) {
    if (error instanceof Misfit) return { reason: error.message }
    throw error
  }
}

/** Ends a mutation that does not fit the value. */
class Misfit extends Error {}

function replaced(
  value: Json | undefined,
  path: JsonPath,
  at: number,
  change: (old: Json | undefined) => Json,
): Json {
  const part = path[at]
  if (part === undefined) return change(value)
  const inner = (old: Json | undefined) => replaced(old, path, at + 1, change)
  if (typeof part === 'string') {
    if (value !== undefined && !isObject(value))
      throw new Misfit(`found no object at ${placeOf(path, at)}, expected one with ${JSON.stringify(part)}`)
    return withMember(value ?? {}, part, inner(memberOf(value, part)))
  }
  const list = value ?? []
  if (!Array.isArray(list)) throw new Misfit(`found no list at ${placeOf(path, at)}, expected one`)
  if (part > list.length || part >= MAX_ELEMENTS)
    throw new Misfit(`found ${list.length} elements at ${placeOf(path, at)}, expected at least ${part}`)
  const elements = [...list]
  elements[part] = inner(list[part])
  return elements
}

function removed(value: Json, path: JsonPath, at = 0): Json {
  const part = path[at]!
  const isLast = at === path.length - 1
  if (typeof part === 'string') {
    const old = memberOf(value, part)
    if (old === undefined) return value
    if (!isLast) return withMember(value as Record<string, Json>, part, removed(old, path, at + 1))
    return Object.fromEntries(Object.entries(value as Record<string, Json>).filter(([name]) => name !== part))
  }
  if (!Array.isArray(value) || part >= value.length) return value
  return isLast ? value.toSpliced(part, 1) : value.with(part, removed(value[part]!, path, at + 1))
}

/** Merges a patch into a value (RFC 7396): members that are null are removed, objects are merged, all else replaces. */
function merged(value: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const old = value !== undefined && isObject(value) ? value : {}
  const kept = Object.entries(old).filter(([name]) => !Object.hasOwn(patch, name))
  const changed = Object.entries(patch).filter(([, inner]) => inner !== null)
  return Object.fromEntries([
    ...kept,
    ...changed.map(([name, inner]) => [name, merged(memberOf(old, name), inner)] as const),
  ])
}

/** True for an object of JSON. A caller may keep long numbers as objects of a class, which are no objects of JSON. */
function isObject(value: Json): value is Record<string, Json> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.getPrototypeOf(value) === Object.prototype
  )
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return value !== undefined && isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A copy of an object with a member. It is made of entries, so that a member named `__proto__` is one like any other. */
function withMember(value: Record<string, Json>, name: string, inner: Json): Json {
  const entries = Object.entries(value)
  const isNew = !Object.hasOwn(value, name)
  const changed = entries.map(([key, old]) => [key, key === name ? inner : old] as const)
  return Object.fromEntries(isNew ? [...changed, [name, inner] as const] : changed)
}

function placeOf(path: JsonPath, at: number): string {
  return JSON.stringify(path.slice(0, at)).slice(0, 200)
}
