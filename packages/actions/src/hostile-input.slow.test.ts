import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import type { Action } from './define.ts'
import { MAX_ACTION_BODY_BYTES } from './limits.ts'
import { actions } from './registry.ts'

/** Length in bytes of the longest text in an action body. 1 KiB of the body is left for the other fields of the input. */
const LONGEST = MAX_ACTION_BODY_BYTES - 1024

/** Texts that cause much backtracking in careless regular expressions. Each is as long as an action body allows. */
const HOSTILE: [what: string, text: string][] = [
  ...[
    'a',
    ' ',
    '\t',
    '0',
    '.',
    '-',
    '@',
    ':',
    '/',
    '=',
    '_',
    'é',
    'd_',
    'a.',
    'a@',
    '0-',
    'A:',
    'p_1',
    '00:',
    '+0',
  ].map((part): [string, string] => [
    `${JSON.stringify(part)} without end`,
    part.repeat(Math.floor(LONGEST / Buffer.byteLength(part))),
  ]),
  ['an address with dots and a wrong end', `a@${'a.'.repeat(LONGEST / 2 - 2)}@`],
  ['an address followed by blanks', `a@a.${'a '.repeat(LONGEST / 2 - 4)}`],
  ['a time with an endless fraction', `2026-11-21T12:03:04.${'1'.repeat(LONGEST - 30)}!`],
  ['an endless id', `u_${'1'.repeat(LONGEST - 3)}`],
  ['a good id with a wrong end', `d_ev_20261121-1203-${'1'.repeat(LONGEST - 30)}!`],
  ['an endless certificate', `${'AA:'.repeat(LONGEST / 3 - 1)}!`],
  ['lone surrogates', '\ud800'.repeat(LONGEST / 8)],
  ['surrogate pairs', '😀'.repeat(LONGEST / 4)],
]

/**
 * Limit of CPU time in milliseconds for validating one hostile text. It is several times the CPU time that a single pass over the text
 * takes.
 */
const MAX_MS = 400

type Def = {
  type: string
  shape?: Record<string, z.core.$ZodType>
  innerType?: z.core.$ZodType
  element?: z.core.$ZodType
  in?: z.core.$ZodType
  keyType?: z.core.$ZodType
  valueType?: z.core.$ZodType
  options?: z.core.$ZodType[]
}

/** Returns every string schema in an input schema, each with the path of one field that uses it. */
function textsOf(
  schema: z.core.$ZodType,
  path: string,
  found = new Map<z.core.$ZodType, string>(),
): Map<z.core.$ZodType, string> {
  if (found.has(schema)) return found
  const def = schema._zod.def as unknown as Def
  // A Zod pipe is checked as a whole, because the steps after its string schema take time as well.
  if (def.type === 'string' || def.type === 'pipe') found.set(schema, path)
  for (const [name, part] of Object.entries(def.shape ?? {})) textsOf(part, `${path}.${name}`, found)
  for (const part of [def.innerType, def.element, def.in, def.keyType, def.valueType, ...(def.options ?? [])])
    if (part) textsOf(part, path, found)
  return found
}

const texts = new Map<z.core.$ZodType, string>()
for (const [name, { input }] of Object.entries(actions) as [string, Action][]) textsOf(input, name, texts)

describe('a text designed to waste time', () => {
  it('can be sent in many places', () => {
    const places = [...texts.values()]
    expect(places.length).toBeGreaterThan(30)
    expect(places.some(place => place.endsWith('.email'))).toBe(true)
    expect(places.some(place => place.endsWith('.password'))).toBe(true)
  })

  it.each(HOSTILE)('is rejected or accepted within milliseconds everywhere: %s', (_what, text) => {
    const slow: string[] = []
    for (const [schema, place] of texts) {
      const start = process.threadCpuUsage()
      ;(schema as z.ZodType).safeParse(text)
      const tookMs = process.threadCpuUsage(start).user / 1000
      if (tookMs > MAX_MS) slow.push(`${place}: ${Math.round(tookMs)} ms`)
    }
    expect(slow).toEqual([])
  })
})
