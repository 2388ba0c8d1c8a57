import { BASE58 } from '@muster/actions/client'

/** Pseudo-random numbers determined by a key. */
export type Random = {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** Returns an integer from `min` to `max`, both included. */
  integer(min: number, max: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** Picks an item with a probability proportional to its weight. */
  weighted<T>(items: readonly (readonly [T, number])[]): T
  base58(length: number): string
}

/**
 * Creates a generator of pseudo-random numbers from a key, for example from a seed, a device's index and a purpose (sfc32, seeded by
 * FNV-1a).
 */
export function randomOf(...key: (string | number)[]): Random {
  const next = sfc32(key.join('/'))
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    integer,
    chance: probability => next() < probability,
    pick: items => items[integer(0, items.length - 1)]!,
    weighted(items) {
      let rest = next() * items.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [item, weight] of items) {
        rest -= weight
        if (rest < 0) return item
      }
      return items.at(-1)![0]
    },
    base58: length => Array.from({ length }, () => BASE58[integer(0, BASE58.length - 1)]).join(''),
  }
}

function sfc32(key: string): () => number {
  let [a, b, c] = [fnv1a(key, 0x811c9dc5), fnv1a(key, 0x2b992ddf), fnv1a(key, 0x5851f42d)]
  let counter = 1
  const next = () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 4294967296
  }
  // The first numbers still resemble the key, so they are discarded.
  for (let round = 0; round < 12; round++) next()
  return next
}

function fnv1a(text: string, basis: number): number {
  let hash = basis
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash | 0
}
