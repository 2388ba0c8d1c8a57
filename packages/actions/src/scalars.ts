import { z } from 'zod'
import { MAX_NAME_LENGTH } from './limits.ts'

/** RFC 3339 with an offset, up to nanoseconds (catalogue 1.7). */
export const Timestamp = z.iso.datetime({
  offset: true,
  error: 'expected an RFC 3339 timestamp with an offset',
})

/** A name that people give: trimmed, not empty, at most 128 characters, no control characters. */
export const Name = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(MAX_NAME_LENGTH)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the rule refuses
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not contain control characters')

/** Name of a property: 1 to 256 characters, `^[a-zA-Z0-9][a-zA-Z0-9._-]*$` (protocol 4.1). */
export const PropertyName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, 'expected letters, digits, dots, underscores and dashes')

/** SHA-256 of a certificate's DER: upper-case hex pairs joined by colons, accepted in any case (protocol 6.5). */
export const CertificateFingerprint = z
  .string()
  .regex(/^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){31}$/, 'expected 32 hex pairs joined by colons')
  .transform(text => text.toUpperCase())

/** An unsigned 64-bit number: newer clients send large ones as decimal text (catalogue 1.7). */
export const U64 = z.union([
  z.int().min(0),
  z
    .string()
    .regex(/^\d{1,20}$/)
    .transform(Number),
])

/** A number of the wire's u32. */
export const U32 = z.int().min(0).max(4294967295)

/** Any JSON value, which must be present but may be `null`. */
export const AnyJson = z.unknown().refine(value => value !== undefined, 'required')

/** What an action answers that has nothing to say. */
export const Empty = z.object({})
