import { randomInt } from 'node:crypto'
import { BASE58 } from '@muster/actions'

/** Makes a random password of 94 bits in four groups, without characters that look alike. */
export function readablePassword(): string {
  const group = (): string => Array.from({ length: 4 }, () => BASE58[randomInt(BASE58.length)]).join('')
  return [group(), group(), group(), group()].join('-')
}
