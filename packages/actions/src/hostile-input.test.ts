import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import type { Action } from './define.ts'
import { MAX_ACTION_BODY_BYTES } from './limits.ts'
import { actions } from './registry.ts'

/** What a body can hold beside the rest of an input. */
const LONGEST = MAX_ACTION_BODY_BYTES - 1024

/** Texts that make a careless pattern go back and try again, each as long as a body lets it be. */
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
  ['an address with blanks behind it', `a@a.${'a '.repeat(LONGEST / 2 - 4)}`],
  ['a time with a fraction without end', `2026-11-21T12:03:04.${'1'.repeat(LONGEST - 30)}!`],
  ['an id without end', `u_${'1'.repeat(LONGEST - 3)}`],
  ['a good id with a wrong end', `d_ev_20261121-1203-${'1'.repeat(LONGEST - 30)}!`],
  ['a certificate without end', `${'AA:'.repeat(LONGEST / 3 - 1)}!`],
  ['halves of characters', '\ud800'.repeat(LONGEST / 8)],
  ['characters of two places', '😀'.repeat(LONGEST / 4)],
]

/** Time of a core that one look at such a text may take, in milliseconds: more than reading it many times over. */
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

/** Every schema of texts that an input holds, each once, with a place where it stands. */
function textsOf(
  schema: z.core.$ZodType,
  path: string,
  found = new Map<z.core.$ZodType, string>(),
): Map<z.core.$ZodType, string> {
  if (found.has(schema)) return found
  const def = schema._zod.def as unknown as Def
  // A pipe is looked at as a whole: what it does behind its text counts too.
  if (def.type === 'string' || def.type === 'pipe') found.set(schema, path)
  for (const [name, part] of Object.entries(def.shape ?? {})) textsOf(part, `${path}.${name}`, found)
  for (const part of [def.innerType, def.element, def.in, def.keyType, def.valueType, ...(def.options ?? [])])
    if (part) textsOf(part, path, found)
  return found
}

const texts = new Map<z.core.$ZodType, string>()
for (const [name, { input }] of Object.entries(actions) as [string, Action][]) textsOf(input, name, texts)

describe('a text that is made to waste time', () => {
  it('has many places to go to', () => {
    const places = [...texts.values()]
    expect(places.length).toBeGreaterThan(30)
    expect(places.some(place => place.endsWith('.email'))).toBe(true)
    expect(places.some(place => place.endsWith('.password'))).toBe(true)
  })

  it.each(HOSTILE)('is answered within milliseconds everywhere: %s', (_what, text) => {
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
