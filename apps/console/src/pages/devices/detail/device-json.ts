import { isJsonObject, RawJson } from '@muster/actions/exact-json'

/** Functions that read JSON written by devices, which may have any shape. They never throw. */

/** The value if it is a JSON object, else `undefined`. */
export function recordOf(value: unknown): Record<string, unknown> | undefined {
  return isJsonObject(value) ? value : undefined
}

/** The objects in an array, without its other entries. Empty if the value is no array. */
export function recordsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(recordOf).filter(entry => entry !== undefined) : []
}

/** The value as trimmed text for display; `undefined` for blank texts, `null`, objects and arrays. */
export function textOf(value: unknown): string | undefined {
  if (['number', 'boolean'].includes(typeof value) || value instanceof RawJson) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The value if it can be a number of bytes, finite and not negative, else `undefined`. */
export function bytesOf(value: unknown): number | undefined {
  const bytes = value instanceof RawJson ? Number(value.text) : value
  return typeof bytes === 'number' && Number.isFinite(bytes) && bytes >= 0 ? bytes : undefined
}

/** The value if it is a whole number that is not negative, else 0. */
export function countOf(value: unknown): number {
  const count = value instanceof RawJson ? Number(value.text) : value
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 0
}
