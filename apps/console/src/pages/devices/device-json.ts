import { ExactNumber } from '../../lib/exact-json.ts'

/**
 * Readers of JSON that a device wrote. Nothing of it can be trusted to have the shape it should have, so each of them
 * answers `undefined` instead of failing.
 */

/** The value as an object, unless it is something else. */
export function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof ExactNumber)
    ? (value as Record<string, unknown>)
    : undefined
}

/** The objects of a list; entries that are none are left out. */
export function recordsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(recordOf).filter(entry => entry !== undefined) : []
}

/** The value as text of one line to show, unless it is empty or structured. */
export function textOf(value: unknown): string | undefined {
  if (['number', 'boolean'].includes(typeof value) || value instanceof ExactNumber) return String(value)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The value as a number of bytes. */
export function bytesOf(value: unknown): number | undefined {
  const bytes = value instanceof ExactNumber ? Number(value.text) : value
  return typeof bytes === 'number' && Number.isFinite(bytes) && bytes >= 0 ? bytes : undefined
}
