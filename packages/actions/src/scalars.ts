import { z } from 'zod'
import { secret } from './define.ts'
import { MAX_EMAIL_LENGTH, MAX_NAME_LENGTH, MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './limits.ts'

const NOT_A_TIMESTAMP = 'expected an RFC 3339 timestamp with an offset'
/** Times that every part of the hub can hold and tell again: later ones have no four-digit year once rounded. */
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z')
const LATEST_MS = Date.parse('9999-12-31T23:59:58Z')

/** RFC 3339 with an offset, up to nanoseconds (catalogue 1.7). */
export const Timestamp = z.iso
  .datetime({ offset: true, abort: true, error: NOT_A_TIMESTAMP })
  .refine(text => /T[\d:]{8}(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):\d\d)$/.test(text), NOT_A_TIMESTAMP)
  .refine(text => {
    const ms = Date.parse(text)
    return ms >= EARLIEST_MS && ms <= LATEST_MS
  }, 'expected a time between the years 1 and 9999')

/** Text that is stored or compared in the database: at most `max` characters, well-formed, without NUL. */
export function text(max: number) {
  return z
    .string()
    .refine(value => hasAtMost(max, value), `must have at most ${max} characters`)
    .refine(
      value => value.isWellFormed() && !value.includes('\0'),
      'must not contain NUL or half of a surrogate pair',
    )
    .meta({ maxLength: max })
}

/** A name that people give: trimmed, not empty, at most 128 characters, no control characters. */
export const Name = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .refine(value => hasAtMost(MAX_NAME_LENGTH, value), `must have at most ${MAX_NAME_LENGTH} characters`)
  .refine(value => /^[^\p{Cc}\p{Cs}]*$/u.test(value), 'must not contain control characters')
  .meta({ maxLength: MAX_NAME_LENGTH })

/**
 * The address of a person: something@something.something, without blanks (catalogue legend) and without what means more than one
 * address in a mail's head.
 */
export const Email = z
  .string()
  .trim()
  // The pattern takes time by the square of the length.
  .refine(value => hasAtMost(MAX_EMAIL_LENGTH, value), {
    error: `must have at most ${MAX_EMAIL_LENGTH} characters`,
    abort: true,
  })
  .refine(
    value =>
      /^[^\s@<>()[\]\\,;:"\p{Cc}\p{Cs}]+@[^\s@<>()[\]\\,;:"\p{Cc}\p{Cs}]+\.[^\s@<>()[\]\\,;:"\p{Cc}\p{Cs}]+$/u.test(
        value,
      ),
    'expected an email address',
  )
  .meta({ maxLength: MAX_EMAIL_LENGTH })

/** A password that is about to be set: 8 to 256 characters, never trimmed (decisions). */
export const NewPassword = secret(
  z
    .string()
    .refine(
      value => hasAtMost(MAX_PASSWORD_LENGTH, value) && [...value].length >= MIN_PASSWORD_LENGTH,
      `must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`,
    )
    .meta({ minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_LENGTH }),
)

/** A password to compare with the one that is set: whatever was typed, up to a length nobody types. */
export const Password = secret(z.string().max(4 * MAX_PASSWORD_LENGTH))

/** A host name: letters, digits, dots and hyphens, beginning with a letter or digit (catalogue legend). */
export const HostName = z
  .string()
  .max(253)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]*$/, 'expected a host name')

/** A JWT of the hub; whether it is one is found out by verifying it, so that a wrong one is an outcome and no error. */
export const Jwt = secret(z.string().max(4096))

/** Whether a text has at most so many characters; those beyond the basic plane take two places of a string. */
function hasAtMost(max: number, value: string): boolean {
  if (value.length <= max) return true
  return value.length <= 2 * max && [...value].length <= max
}

/** Name of a property: 1 to 256 characters, `^[a-zA-Z0-9][a-zA-Z0-9._-]*$` (protocol 4.1). */
export const PropertyName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, 'expected letters, digits, dots, underscores and dashes')

/** Name of a repository, package or tag in a path: 1 to 128 characters, `^[a-zA-Z0-9][a-zA-Z0-9._-]*$` (catalogue legend). */
export const PathName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, 'expected letters, digits, dots, underscores and dashes')

const DIGEST_HEX_LENGTHS: Record<string, number> = { sha256: 64, sha512_256: 64, sha512: 128 }

/** A digest, `sha256_<hex>` or `sha256:<hex>`, in one canonical form; also `sha512_256` and `sha512` (catalogue 1.7). */
export const Digest = z
  .string()
  .max(256)
  .transform(value => value.toLowerCase().replace('sha512-256', 'sha512_256').replace(':', '_'))
  .refine(value => {
    const [, algorithm = '', hex = ''] = /^(sha256|sha512_256|sha512)_([0-9a-f]+)$/.exec(value) ?? []
    return hex.length > 0 && hex.length === DIGEST_HEX_LENGTHS[algorithm]
  }, 'expected sha256_ and 64 hexadecimal digits (or sha512_256, sha512)')

/** SHA-256 of a certificate's DER: upper-case hex pairs joined by colons, accepted in any case (protocol 6.5). */
export const CertificateFingerprint = z
  .string()
  .regex(/^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){31}$/, 'expected 32 hex pairs joined by colons')
  .transform(text => text.toUpperCase())

const MAX_U64 = 2n ** 64n - 1n

/** An unsigned 64-bit number: newer clients send large ones as decimal text (catalogue 1.7). */
export const U64 = z.union(
  [
    z.int().min(0),
    z
      .string()
      .regex(/^\d{1,20}$/, { abort: true })
      .refine(digits => BigInt(digits) <= MAX_U64)
      .transform(Number),
  ],
  'expected a number from 0 to 2^64-1, large ones as decimal text',
)

/** A number of the wire's u32. */
export const U32 = z.int().min(0).max(4294967295)

/** Any JSON value, which must be present but may be `null`. */
export const AnyJson = z.unknown().refine(value => value !== undefined, 'required')

/** A JSON object, taken as it is: a schema of a record makes another one, without a member named `__proto__`. */
export const JsonObject = z
  .custom<Record<string, unknown>>(
    value => typeof value === 'object' && value !== null && !Array.isArray(value),
    'expected an object',
  )
  .meta({ type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} })

/** What an action answers that has nothing to say. */
export const Empty = z.object({})
