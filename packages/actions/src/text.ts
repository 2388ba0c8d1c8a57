import { z } from 'zod'
import { STORABLE_TEXT } from './patterns.ts'

const NOT_STORABLE = 'must not contain NUL or half of a surrogate pair'

/** Text for the database: at most `max` characters, well-formed, without NUL. */
export function text(max: number) {
  return z
    .string()
    .refine(value => hasAtMost(max, value), `must have at most ${max} characters`)
    .regex(new RegExp(STORABLE_TEXT), NOT_STORABLE)
    .refine(value => value.isWellFormed(), NOT_STORABLE)
    .meta({ maxLength: max })
}

/** True if a text has at most `max` characters. `length` counts characters outside the Basic Multilingual Plane twice. */
export function hasAtMost(max: number, value: string): boolean {
  if (value.length <= max) return true
  return value.length <= 2 * max && [...value].length <= max
}
