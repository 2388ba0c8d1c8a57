import { stringify } from '@muster/actions/exact-json'
import { type Caller, personOf } from '../pipeline/caller.ts'
import { sha256 } from './chain.ts'

/** Origin of a request: the client's IP address, and the text of the header `User-Agent`. */
export type Origin = { address?: string | undefined; browser?: string | undefined }

/** Maximum size, in bytes, of a text that an audit row stores unchanged. A longer text is replaced by its length and digest. */
const MAX_STORED_BYTES = 1024

/**
 * Columns with the origin of a caller's request. The origin of an administrator of the instance is not stored, because no
 * administrator of an organization may see it (docs/decisions.md, "Actions and audit").
 */
export function originColumns(
  caller: Caller,
  { address, browser }: Origin = {},
): { address: string | null; browser: string | null } {
  if (personOf(caller)?.isAdmin) return { address: null, browser: null }
  return { address: storedText(address), browser: storedText(browser) }
}

/** A text as it is stored in an audit row. A text above 1 KiB is replaced by its length and SHA-256 digest. */
export function storedText(text: string | undefined): string | null {
  if (text === undefined || text === '') return null
  const bytes = Buffer.byteLength(text)
  return bytes <= MAX_STORED_BYTES ? text : `${bytes} bytes, SHA-256 ${sha256(text).toString('hex')}`
}

/**
 * JSON text of the values before a change, as it is stored in an audit row. A value above 1 KiB becomes `{"bytes", "sha256"}`: the
 * length and digest of a text, or of the JSON text of another value.
 */
export function storedValues(values: Record<string, unknown> | undefined): string | null {
  if (values === undefined) return null
  const kept = Object.entries(values).filter(([, value]) => value !== undefined)
  return kept.length === 0
    ? null
    : stringify(Object.fromEntries(kept.map(([key, value]) => [key, stored(value)])))
}

function stored(value: unknown): unknown {
  const text = typeof value === 'string' ? value : stringify(value)
  const bytes = Buffer.byteLength(text)
  return bytes <= MAX_STORED_BYTES ? value : { bytes, sha256: sha256(text).toString('hex') }
}
