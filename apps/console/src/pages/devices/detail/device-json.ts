import { isJsonObject, RawJson } from '@muster/actions/exact-json'

/** Readers of JSON written by devices, which may have any shape. They return `undefined` instead of throwing. */

/** The value if it is an object. */
export function recordOf(value: unknown): Record<string, unknown> | undefined {
  return isJsonObject(value) ? value : undefined
}

/** The objects in a list; other entries are left out. */
export function recordsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(recordOf).filter(entry => entry !== undefined) : []
}

/** The value as text for display, unless it is blank or structured. */
export function textOf(value: unknown): string | undefined {
  if (['number', 'boolean'].includes(typeof value) || value instanceof RawJson) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The value if it is a number of bytes: finite and not negative. */
export function bytesOf(value: unknown): number | undefined {
  const bytes = value instanceof RawJson ? Number(value.text) : value
  return typeof bytes === 'number' && Number.isFinite(bytes) && bytes >= 0 ? bytes : undefined
}
