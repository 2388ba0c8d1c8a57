import { isIPv6 } from 'node:net'

/**
 * Normalizes a key of a limit per address. An IPv6 address counts as its /64 network, all of which belongs to one subscriber. Other keys
 * are unchanged.
 */
export function countedAs(key: string): string {
  if (!isIPv6(key)) return key
  const [head, tail] = key.split('::').map(part => part.split(':')) as [string[], string[]?]
  const zeros = tail ? Array(8 - head.length - tail.length).fill('0') : []
  const groups = [...head, ...zeros, ...(tail ?? [])].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group || '0', 16).toString(16)).join(':')}::/64`
}
