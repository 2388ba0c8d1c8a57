import { z } from 'zod'
import { optional, secret } from './define.ts'
import {
  MAX_EMAIL_LENGTH,
  MAX_NAME_LENGTH,
  MAX_PASSWORD_LENGTH,
  MAX_PATH_NAME_LENGTH,
  MIN_PASSWORD_LENGTH,
} from './limits.ts'
import {
  DIGEST_TEXT,
  decimalUpTo,
  EMAIL_TEXT,
  TIMESTAMP_TEXT,
  trimmedText,
  UNDIRECTED_TEXT,
  VISIBLE_TEXT,
} from './patterns.ts'
import { MAX_PROPERTY_NAME_LENGTH, PROPERTY_NAME_TEXT } from './property-name.ts'
import { hasAtMost } from './text.ts'

export { text } from './text.ts'

const NOT_A_TIMESTAMP = 'expected an RFC 3339 timestamp with an offset'
/** Range of times that every part of the hub can store and format. Later times would be rounded to a year of five digits. */
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z')
const LATEST_MS = Date.parse('9999-12-31T23:59:58Z')

/** RFC 3339 timestamp with an offset, up to nanoseconds (docs/api.md 1.7). */
export const Timestamp = z.iso
  .datetime({ offset: true, abort: true, error: NOT_A_TIMESTAMP })
  .refine(text => /T[\d:]{8}(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):\d\d)$/.test(text), NOT_A_TIMESTAMP)
  .refine(text => {
    const ms = Date.parse(text)
    return ms >= EARLIEST_MS && ms <= LATEST_MS
  }, 'expected a time between the years 1 and 9999')
  .meta({ pattern: TIMESTAMP_TEXT })

/** Maximum of `WithinSecs`, in seconds: a year. */
const MAX_WITHIN_SECS = 366 * 24 * 60 * 60

/** Beginning of a time range that ends now, as a part of a filter. */
export const WithinSecs = optional(z.int().min(1).max(MAX_WITHIN_SECS)).describe(
  'Not older than this many seconds by the clock of the hub, for clients whose clock may be wrong.',
)

const VISIBLE = new RegExp(VISIBLE_TEXT, 'u')

/** True if a text has a visible character: blanks, format characters and fillers are invisible. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text)
}

/**
 * Refuses characters that change the direction of text. In a name they reorder the words around it, so that one thing can pass for another.
 */
export function undirected<T extends z.ZodType<string>>(schema: T): T {
  return schema.refine(
    value => !/\p{Bidi_Control}/u.test(value),
    'must not contain characters that change the direction of text',
  )
}

/** Patterns of a name beside that of its length. */
export const NAME_PATTERNS = [{ pattern: VISIBLE_TEXT }, { pattern: UNDIRECTED_TEXT }]

/**
 * A name given by people: trimmed, not empty, at most 128 characters, no control characters, and none that change the direction of text.
 */
export const Name = undirected(
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .refine(value => value === '' || isVisible(value), 'must have a visible character')
    .refine(value => hasAtMost(MAX_NAME_LENGTH, value), `must have at most ${MAX_NAME_LENGTH} characters`)
    .refine(value => /^[^\p{Cc}\p{Cs}]*$/u.test(value), 'must not contain control characters'),
).meta({ pattern: trimmedText(MAX_NAME_LENGTH), allOf: NAME_PATTERNS })

/**
 * Email address of a person: something@something.something, without blanks and without characters that would separate
 * addresses in a mail header.
 */
export const Email = z
  .string()
  .trim()
  // The regular expression below takes quadratic time, so too long texts are refused first.
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
  .meta({ maxLength: MAX_EMAIL_LENGTH, pattern: EMAIL_TEXT })

/** A new password: 8 to 256 characters, never trimmed (docs/decisions.md, "Actions and audit"). */
export const NewPassword = secret(
  z
    .string()
    .refine(
      value => hasAtMost(MAX_PASSWORD_LENGTH, value) && [...value].length >= MIN_PASSWORD_LENGTH,
      `must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`,
    )
    .meta({ minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_LENGTH }),
)

/**
 * A password to compare with the stored hash. It may be up to four times as long as a new password, so that a wrong password
 * leads to an outcome of the action and not to an input error.
 */
export const Password = secret(z.string().max(4 * MAX_PASSWORD_LENGTH))

/** A host name: letters, digits, dots and hyphens, starting with a letter or digit. */
export const HostName = z
  .string()
  .max(253)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]*$/, 'expected a host name')

/** A JWT issued by the hub. The schema accepts any text: handlers verify it and return an outcome for an invalid JWT. */
export const Jwt = secret(z.string().max(4096))

/** Name of a property: 1 to 256 characters, `^[a-zA-Z0-9][a-zA-Z0-9._-]*$` (docs/protocol.md 4.1). */
export const PropertyName = z
  .string()
  .min(1)
  .max(MAX_PROPERTY_NAME_LENGTH)
  .regex(PROPERTY_NAME_TEXT, 'expected letters, digits, dots, underscores and dashes')

/** Name of a repository, package or tag in a path: `^[a-zA-Z0-9][a-zA-Z0-9._-]*$`. */
export const PathName = z
  .string()
  .min(1)
  .max(MAX_PATH_NAME_LENGTH)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, 'expected letters, digits, dots, underscores and dashes')

/**
 * A digest, parsed to the form `sha256_<hex>` in lower case. Also accepts `sha256:<hex>`, and the algorithms `sha512_256` and `sha512`
 * (docs/api.md 1.7).
 */
export const Digest = z
  .string()
  .regex(new RegExp(DIGEST_TEXT), 'expected sha256_ and 64 hexadecimal digits (or sha512_256, sha512)')
  .transform(value => value.toLowerCase().replace('sha512-256', 'sha512_256').replace(':', '_'))

/** SHA-256 of a certificate's DER as upper-case hex pairs joined by colons; any case is accepted (docs/protocol.md 6.5). */
export const CertificateFingerprint = z
  .string()
  .regex(/^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){31}$/, 'expected 32 hex pairs joined by colons')
  .transform(text => text.toUpperCase())

const MAX_U64 = 2n ** 64n - 1n

/** An unsigned 64-bit number. Newer clients send large numbers as decimal text (docs/api.md 1.7). */
export const U64 = z.union(
  [
    z.int().min(0),
    z
      .string()
      .regex(new RegExp(`^${decimalUpTo(MAX_U64)}$`))
      .transform(Number),
  ],
  'expected a number from 0 to 2^64-1, large ones as decimal text',
)

/** An unsigned 32-bit number. */
export const U32 = z.int().min(0).max(4294967295)

/** Any JSON value. It must be present but may be `null`. */
export const AnyJson = z.unknown().refine(value => value !== undefined, 'required')

/** A JSON object, returned unchanged. A record schema would copy it and lose a member named `__proto__`. */
export const JsonObject = z
  .custom<Record<string, unknown>>(
    value => typeof value === 'object' && value !== null && !Array.isArray(value),
    'expected an object',
  )
  .meta({ type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} })

/**
 * A value of an enumeration, read from the database for an output. A node of a newer release may have stored a value that this release
 * does not know. The hub returns such a value, and clients show it unchanged. The TypeScript type has only the known values.
 */
export function openWord<Known extends z.ZodEnum>(known: Known): z.ZodType<z.output<Known>> {
  return z.union([known, z.string()]) as unknown as z.ZodType<z.output<Known>>
}

/** Output of an action that returns nothing. */
export const Empty = z.object({})
