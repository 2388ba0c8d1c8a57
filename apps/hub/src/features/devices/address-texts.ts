import { isIPv6 } from 'node:net'
import { canonicalIpv6 } from '../../link/telemetry/device-addresses.ts'

/**
 * Minimum number of hexadecimal digits without separators that are read as the beginning of a MAC address. Shorter texts are common in
 * names.
 */
const MIN_BARE_DIGITS = 4

/** Beginnings of IP and MAC addresses that a search text may mean, in the notation of the table `device_address`. */
export type AddressStarts = { ip?: string; mac?: string }

/** Reads a text as the beginning of an IP address, of a MAC address, or of both. */
export function addressStartsOf(text: string): AddressStarts {
  const lower = text.trim().toLowerCase()
  const ip = ipStart(lower.split(/[/%]/, 1)[0]!)
  const mac = macStart(lower)
  return { ...(ip !== undefined && { ip }), ...(mac !== undefined && { mac }) }
}

/** Reads a text as the beginning of an IP address. It needs a dot or colon, because bare digits are more likely part of a name. */
function ipStart(text: string): string | undefined {
  if (/^\d{1,3}(\.\d{1,3}){0,3}\.?$/.test(text) && text.includes('.')) return text
  if (!/^[0-9a-f:]{2,45}$/.test(text) || !text.includes(':')) return undefined
  if (isIPv6(text)) return canonicalIpv6(text)
  // The address is unfinished, and its last group may get more digits. Leading zeros of this group therefore stay unless it has four
  // digits already.
  const groups = text.split(':')
  if (groups.some(group => group.length > 4)) return undefined
  const last = groups.length - 1
  return groups
    .map((group, at) => (at < last || group.length === 4 ? group.replace(/^0+(?=.)/, '') : group))
    .join(':')
}

/** Reads a text as the beginning of a MAC address: pairs of digits with colons or hyphens, groups of four with dots, or bare digits. */
function macStart(text: string): string | undefined {
  if (/^[0-9a-f]{1,2}([:-][0-9a-f]{1,2}){0,7}[:-]?$/.test(text) && /[:-]/.test(text)) {
    // Some programs omit the leading zero of a byte. Only the last byte may be unfinished.
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
