import { stringify } from '@muster/actions/exact-json'
import type { Properties } from '../well-known.ts'

const texts = new WeakMap<object, string>()

/** Key and value of a property in lower case. For a value that the hub has truncated, only the beginning is searched. */
export function searchText(property: Properties[string]): string {
  const known = texts.get(property)
  if (known !== undefined) return known
  const { name, value, isCut } = property
  const text = `${name}\n${isCut ? String(value) : stringify(value)}`.toLowerCase()
  texts.set(property, text)
  return text
}
