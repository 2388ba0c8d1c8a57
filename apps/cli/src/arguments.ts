import { InvalidArgumentError } from 'commander'
import { isObject, parseExactly } from './exact-json.ts'

/** A whole number of an option that is at least `min`. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return text => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(
      `Expected a whole number from ${min}${max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : ''}.`,
    )
  }
}

/** Any JSON of an argument or option; its numbers are sent as they were written. */
export function json(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    throw new InvalidArgumentError('Expected JSON, for example \'{"key": 1}\' or \'"text"\'.')
  }
}

/** A JSON object of an argument or option. */
export function jsonObject(text: string): Record<string, unknown> {
  const value = json(text)
  if (isObject(value)) return value
  throw new InvalidArgumentError('Expected a JSON object.')
}

/** `true` or `false`, as the public command line takes it. */
export function boolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new InvalidArgumentError('Expected true or false.')
}
