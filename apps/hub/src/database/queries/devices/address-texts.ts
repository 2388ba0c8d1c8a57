import { isIPv6 } from 'node:net'
import { canonicalIpv6 } from './device-addresses.ts'

/** Fewest hexadecimal digits without separators that are searched as part of a MAC address. Shorter ones are common in names. */
const MIN_BARE_DIGITS = 4

/** Beginnings of addresses, in the form of `device_address`, that a text in any notation may mean. */
export type AddressStarts = { ip?: string; mac?: string }

/** Reads a text as the beginning of an IP address, of a MAC address, or of both. */
export function addressStartsOf(text: string): AddressStarts {
  const lower = text.trim().toLowerCase()
  const ip = ipStart(lower.split(/[/%]/, 1)[0]!)
  const mac = macStart(lower)
  return { ...(ip !== undefined && { ip }), ...(mac !== undefined && { mac }) }
}

/** At least one dot or colon is needed: digits alone are rather part of a name. */
function ipStart(text: string): string | undefined {
  if (/^\d{1,3}(\.\d{1,3}){0,3}\.?$/.test(text) && text.includes('.')) return text
  if (!/^[0-9a-f:]{2,45}$/.test(text) || !text.includes(':')) return undefined
  if (isIPv6(text)) return canonicalIpv6(text)
  // An unfinished address. Only its last group may continue, so its zeros in front stay unless the group is full.
  const groups = text.split(':')
  if (groups.some(group => group.length > 4)) return undefined
  const last = groups.length - 1
  return groups
    .map((group, at) => (at < last || group.length === 4 ? group.replace(/^0+(?=.)/, '') : group))
    .join(':')
}

/** Takes pairs of digits with colons or hyphens, groups of four with dots, and digits without separators. */
function macStart(text: string): string | undefined {
  if (/^[0-9a-f]{1,2}([:-][0-9a-f]{1,2}){0,7}[:-]?$/.test(text) && /[:-]/.test(text)) {
    // Some programs print bytes without the zero in front. Only the last byte may be unfinished.
    const bytes = text.split(/[:-]/)
    return bytes.map((byte, at) => (at < bytes.length - 1 ? byte.padStart(2, '0') : byte)).join('')
  }
  const isGrouped = /^[0-9a-f]{4}(\.[0-9a-f]{4}){0,3}(\.[0-9a-f]{0,3})?$/.test(text)
  const digits = text.replaceAll('.', '')
  return isGrouped || /^[0-9a-f]{1,16}$/.test(text)
    ? digits.length >= MIN_BARE_DIGITS
      ? digits
      : undefined
    : undefined
}
