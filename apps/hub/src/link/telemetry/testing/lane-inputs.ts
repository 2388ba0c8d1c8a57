import { BASE58 } from '@muster/actions'
import fc from 'fast-check'

/** Place of the id of the device in the text of an input. */
export const DEVICE_ID = '%device%'

/** A call of a device: the name of an action, and the JSON text of its input. */
export type LaneInput = { name: string; text: string }

/** JSON texts that are stored unchanged and that other writers of JSON would change, and texts that are no JSON. */
const ODD_TEXTS = [
  ...['1.0', '-0', '1e3', '12345678901234567890', '1e400', '-1E-99999', '0.10', '01', '-', '.5', '1.', '1e'],
  ...['"\\u0000"', '"\\ud800"', '"\\u00e9"', '"\\/"', '"\\x"', '"\\u12g4"', '"\t"', '"\u2028"', '"', '"\\"'],
  ...[
    '{"a":1,"a":2}',
    '{ "b" : [ ] }',
    '[ 1 , 2 ]',
    '{"__proto__":{"x":1}}',
    '{,}',
    '[1,]',
    '{"a"}',
    "{'a':1}",
  ],
  ...['true', 'tru', 'nul', 'null', 'NaN', 'undefined', '', ' ', '/**/1', '[1}', '{"a":1]', '1 2', '"a" "b"'],
  ...[58, 60, 61, 62, 63, 64, 66].map(levels => '['.repeat(levels) + ']'.repeat(levels)),
]

const blank = fc.oneof(
  { weight: 20, arbitrary: fc.constant('') },
  fc.constantFrom(' ', '\n\t', '\r\n ', '\u00a0'),
)

const anyText = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
        fc.constantFrom(undefined, undefined, 1, '\t'),
      )
      .map(([value, indent]) => JSON.stringify(value, null, indent)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_TEXTS) },
)

/** A text in quotes, sometimes with an escape in place of a character. */
function quoted(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(text, fc.nat(40)).map(([one, at]) => {
    const json = JSON.stringify(one)
    const code = one.charCodeAt(at)
    return at < one.length && at > 35
      ? json.replace(one[at]!, `\\u${code.toString(16).padStart(4, '0')}`)
      : json
  })
}

const recent = fc.date({
  min: new Date(Date.now() - 40 * 86_400_000),
  max: new Date(Date.now() + 600_000),
  noInvalidDate: true,
})
const anyTime = fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })
const fraction = fc.stringMatching(/^[0-9]{1,10}$/)

const emittedAt = fc.oneof(
  { weight: 5, arbitrary: recent.map(at => at.toISOString()) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(recent, fraction)
      .map(([at, digits]) => at.toISOString().replace(/\.\d+/, `.${digits}`)),
  },
  fc.tuple(anyTime, fraction).map(([at, digits]) => at.toISOString().replace(/\.\d+/, `.${digits}`)),
  fc
    .tuple(recent, fc.constantFrom('+02:00', '-15:59', '+16:00', '+0200', 'z', ''))
    .map(([at, offset]) => at.toISOString().replace('Z', offset)),
  fc.constantFrom(
    '2026-02-30T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.9999999Z',
    '2016-12-31T23:59:60Z',
    'now',
    '',
    '2026-11-30',
  ),
)

const eventId = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(recent, fc.array(fc.constantFrom(...BASE58), { minLength: 8, maxLength: 8 }))
      .map(([at, end]) => `d_ev_${at.toISOString().slice(0, 10).replaceAll('-', '')}-1200-${end.join('')}`),
  },
  // Few ids, so that some events are sent again.
  fc.nat(20).map(number => `d_ev_20261130-1200-1111111${BASE58[number]}`),
  fc.constantFrom(
    'd_ev_99999999-1200-11111111',
    'd_ev_00000000-0000-11111111',
    'd_ev_20261130-1200-1111111',
    'd_ev_20261130-1200-1111111é',
  ),
)

const category = fc.oneof(
  quoted(
    fc.constantFrom(
      'ota',
      'Wärme',
      'org.rugix.ota',
      ' ',
      '',
      '\ud83d\ude00'.repeat(64),
      'x'.repeat(129),
      'a\0b',
    ),
  ),
  quoted(fc.string({ unit: 'binary', maxLength: 140 })),
  fc.constantFrom('null', '7', '[]', '"x\\"null', 'null"'),
)

type Member = [name: string, value: string]

/**
 * The text of an object: members in any order, sometimes one that is missing, unknown, repeated, or of another type, with blanks and with
 * names in escapes.
 */
function objectText(members: fc.Arbitrary<Member[]>): fc.Arbitrary<string> {
  const oddity = fc.oneof(
    { weight: 25, arbitrary: fc.constant<'none'>('none') },
    fc.constantFrom('shuffled', 'missing', 'unknown', 'repeated', 'doubled', 'swapped', 'escaped'),
  )
  return fc
    .tuple(members, oddity, fc.nat(20), blank, blank, anyText)
    .map(([all, what, at, before, after, text]) => {
      const list = [...all]
      const index = at % list.length
      const [name] = list[index]!
      if (what === 'shuffled') list.push(...list.splice(0, index))
      else if (what === 'missing') list.splice(index, 1)
      else if (what === 'unknown') list.splice(index, 0, ['extra', text])
      else if (what === 'doubled') list[index] = [`${name}" "${name}`, list[index]![1]]
      else if (what === 'repeated') list.push([name, text])
      else if (what === 'swapped') list[index] = [name, text]
      else if (what === 'escaped')
        list[index] = [`\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`, text]
      return `{${list.map(([key, value]) => `${before}"${key}"${after}:${before}${value}${after}`).join(',')}}`
    })
}

const eventText = objectText(
  fc
    .record({
      id: quoted(eventId),
      category: fc.option(category, { nil: undefined }),
      severity: quoted(
        fc.oneof(
          { weight: 9, arbitrary: fc.constantFrom('Info', 'Warning', 'Critical') },
          fc.constantFrom('info', 'Fatal', ''),
        ),
      ),
      body: anyText,
      attributes: fc.oneof(
        fc.constant('{}'),
        fc.dictionary(fc.string(), fc.jsonValue()).map(one => JSON.stringify(one)),
        anyText,
      ),
      at: quoted(emittedAt),
    })
    .map(one => [
      ['eventId', one.id],
      ...(one.category === undefined ? [] : [['category', one.category] satisfies Member]),
      ['severity', one.severity],
      ['body', one.body],
      ['attributes', one.attributes],
      ['emittedAt', one.at],
    ]),
)

const deviceId = fc.oneof(
  { weight: 40, arbitrary: fc.constant(`"${DEVICE_ID}"`) },
  fc.constantFrom('"d_1111111111111111111111"', 'null', '"x"', '1'),
)

/** Of two events with one id in one call, the database may store either. */
function hasDistinctIds(events: readonly string[]): boolean {
  const ids = events.flatMap(event => event.match(/d_ev_[^"]*/g) ?? [])
  return new Set(ids).size === ids.length
}

const eventsText = objectText(
  fc
    .tuple(
      deviceId,
      fc.oneof(fc.constant([]), {
        weight: 9,
        arbitrary: fc.array(eventText, { minLength: 1, maxLength: 3 }),
      }),
      blank,
    )
    .filter(([, events]) => hasDistinctIds(events))
    .map(([id, events, between]) => [
      ['deviceId', id],
      ['events', `[${events.join(`${between},${between}`)}]`],
    ]),
)

const status = fc
  .record(
    {
      state: fc.constantFrom('failed', 'completed', 7, null),
      currentVersion: fc.string({ unit: 'binary', maxLength: 10 }),
      failureCount: fc.constantFrom(0, 3, -1, 2 ** 40, '2'),
      lastError: fc.constantFrom('no space at 0x7f', 'a\0b', '\ud800', ''),
      config: fc.constantFrom({ path: 'a/b/c' }, {}, null),
    },
    { requiredKeys: [] },
  )
  .map(value => JSON.stringify(value))

const property = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom('a', 'b.c', 'x-1_2', 'X'.repeat(256)), anyText) },
  fc.tuple(fc.constant('dev.nexigon.ota.status'), fc.oneof(status, anyText)),
  fc.tuple(
    fc.constant('dev.nexigon.system.health'),
    fc.oneof(fc.constantFrom('{"status":"ok"}', '{"status":"degraded"}', '{"status":7}', '[]'), anyText),
  ),
  fc.tuple(
    fc.constantFrom('dev.nexigon.system.info', 'dev.nexigon.systemInfo'),
    fc.constantFrom(
      '{"hostname":"pump"}',
      '{"hostname":"valve","networks":[{"ipAddresses":["10.0.0.1"]}]}',
      'null',
    ),
  ),
  fc.tuple(fc.constantFrom('', '.a', 'a b', 'é', 'X'.repeat(257)), anyText),
)

const propertyText = objectText(
  fc
    .tuple(
      deviceId,
      property,
      fc.oneof(
        { weight: 9, arbitrary: fc.constant(undefined) },
        fc.constantFrom('null', 'null', '1', '"1"', 'true', '-1'),
      ),
    )
    .map(([id, [name, value], more]) => [
      ['deviceId', id],
      ['name', JSON.stringify(name)],
      ['value', value],
      ...(more === undefined
        ? []
        : [['expectedVersion', more] satisfies Member, ['protected', 'null'] satisfies Member]),
    ]),
)

/** Changes one character of a text, in one of ten texts. */
function sometimesBroken(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const broken = fc.tuple(
    fc.nat(9),
    fc.nat(),
    fc.constantFrom('', '"', '\\', '{', ']', ',', ':', '0', '\0', '\ufeff', '\ud800', 'é', ' '),
  )
  return fc.tuple(text, broken).map(([whole, [chance, position, inserted]]) => {
    if (chance > 0) return whole
    const at = position % (whole.length + 1)
    return whole.slice(0, at) + inserted + whole.slice(at + (position % 2))
  })
}

/** Inputs of the two actions of the lane: most of them valid, in all spellings of JSON, and the others invalid in many ways. */
export const laneInput: fc.Arbitrary<LaneInput> = fc.oneof(
  sometimesBroken(eventsText).map(text => ({ name: 'devices_PublishEvents', text })),
  sometimesBroken(propertyText).map(text => ({ name: 'devices_SetProperty', text })),
)
