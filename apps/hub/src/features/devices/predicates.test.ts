import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  COMPARISONS,
  DEVICE_FIELDS,
  evaluate,
  FIELD_PREFIX,
  type Json,
  type JsonExpr,
  printPredicate,
  problemsOf,
  readPredicate,
} from '@muster/predicates'
import { deviceRow, type TestHub, type TestUser, testHub } from '@muster/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let projectId: string
let otherProjectId: string

const NAMES = ['alpha', 'beta.x', 'gamma']
const MEMBERS = ['a', 'b', 'é']

/** Small values, so that different devices and predicates often have the same. */
const scalar = fc.constantFrom<Json>(null, true, false, 0, 1, -2.5, 1e3, '', 'a', 'B', 'ab', 'é', '😀', '￿')
const version = fc.constantFrom('1.0', '1.9.0', '1.10.0-rc.1', 'v1.10.0', '2:0.1', '1.0~rc1', 'none')
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: fc.oneof(scalar, version) },
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom(...MEMBERS), fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), {
    maxKeys: 3,
  }),
)
const device = fc.record({
  name: fc.option(fc.constantFrom('a', 'ab', 'Pump 7')),
  properties: fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 3 }),
})

const path = fc.array(fc.oneof(fc.constantFrom<string | number>(...MEMBERS), fc.constantFrom(0, 1)), {
  maxLength: 2,
})
const fieldName = fc.constantFrom(...Object.keys(DEVICE_FIELDS)).map(name => FIELD_PREFIX + name)

const { condition } = fc.letrec<{ condition: JsonExpr; value: JsonExpr }>(tie => {
  const pair = { left: tie('value'), right: tie('value') }
  const fallback = fc.option(tie('value'), { nil: undefined, freq: 4 })
  return {
    condition: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.record({ kind: fc.constantFrom(...COMPARISONS), ...pair }),
      fc.record({ kind: fc.constant('Exists' as const), expr: tie('value'), path }),
      fc.record({ kind: fc.constant('In' as const), ...pair }),
      fc.record({ kind: fc.constant('Contains' as const), ...pair, ignoreCase: fc.boolean() }),
      fc.record({
        kind: fc.constantFrom('And' as const, 'Or' as const),
        exprs: fc.array(tie('condition'), { minLength: 1, maxLength: 3 }),
      }),
      fc.record({
        kind: fc.constant('VersionRequirement' as const),
        expr: tie('value'),
        requirement: fc.constantFrom('>=1.10.0', '>1.0, <2.0', '!=1.9.0', '<=v1.10.0+build'),
      }),
      fc.record({ kind: fc.constant('Not' as const), expr: tie('condition') }),
      tie('value'),
    ),
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      value.map((value): JsonExpr => ({ kind: 'Literal', value })),
      fc.record({
        kind: fc.constant('NamedValue' as const),
        name: fc.oneof(fc.constantFrom(...NAMES), fieldName),
        default: fallback,
      }),
      fc.nat({ max: 3 }).map((secs): JsonExpr => ({ kind: 'Ago', secs: secs * 1e6 })),
      fc.record({ kind: fc.constant('Get' as const), expr: tie('value'), path, default: fallback }),
      tie('condition'),
    ),
  }
})

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  const organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  otherProjectId = await hub.project(owner, organizationId)
})
afterAll(() => hub[Symbol.asyncDispose]())

/** Ids of the devices of a project that the hub finds. */
async function found(predicate: JsonExpr, inProject = projectId): Promise<string[]> {
  const filter = { predicate }
  const { devices } = await owner.invoke('projects_QueryDevices', {
    projectId: inProject,
    filter,
    limit: 500,
  })
  return devices.map(({ deviceId }) => deviceId)
}

it('runs each recipe of docs/predicates.md', async () => {
  const document = readFileSync(join(import.meta.dirname, '../../../../../docs/predicates.md'), 'utf8')
  const recipes = /```predicate\n([\s\S]*?)\n```/.exec(document)![1]!.split('\n')
  expect(recipes).toHaveLength(20)
  const deviceId = await deviceRow(hub, otherProjectId, {
    name: 'Pump 7',
    hostname: 'gateway-1',
    isConnected: true,
  })
  await owner.invoke('devices_SetLabels', { deviceId, set: { site: 'pier4', ring: 'canary' }, remove: [] })
  const properties = {
    'site.floor': 5,
    battery: { percent: 12 },
    modem: { signals: [-110, -95] },
    features: ['camera'],
    'dev.nexigon.ota.status': {
      state: 'failed',
      currentVersion: '2.4.1',
      targetVersion: '2.5.0',
      failureCount: 3,
    },
  }
  for (const [name, value] of Object.entries(properties))
    await owner.invoke('devices_SetProperty', { deviceId, name, value })
  const met: string[] = []
  for (const recipe of recipes)
    if ((await found(readPredicate(recipe), otherProjectId)).length > 0) met.push(recipe)
  expect(recipes.filter(recipe => !met.includes(recipe))).toEqual([
    'not exists label.site',
    'device.connected and device.status = "error"',
    'not device.connected and device.lastSeen < 7 d ago',
    'not exists device.name',
    'device.pendingCertificatesCount > 0',
    'device.sharedIdentity',
    'device.version satisfies ">=2.4.0, <2.5.0" and not device.connected',
    'maintenance = true and device.lastConnectedAt > "2026-11-01T00:00:00.000Z"',
  ])
  await owner.invoke('devices_Delete', { deviceId })
})

it('SQL finds the devices for which a predicate holds', async () => {
  const values = new Map<string, Map<string, Json>>()
  for (const { name, properties } of fc.sample(device, { numRuns: 40, seed: inject('fuzzSeed') })) {
    const deviceId = await deviceRow(hub, projectId, name === null ? {} : { name })
    for (const [property, value] of Object.entries(properties))
      await owner.invoke('devices_SetProperty', { deviceId, name: property, value })
    values.set(deviceId, new Map(Object.entries(properties)))
  }
  const { devices } = await owner.invoke('projects_QueryDevices', { projectId, limit: 500 })
  const fieldsOf = (
    row: (typeof devices)[number],
  ): Partial<Record<keyof typeof DEVICE_FIELDS, Json | undefined>> => ({
    name: row.name,
    deviceId: row.deviceId,
    firstSeen: row.firstSeen,
    status: row.status,
    connected: row.isConnected,
    sharedIdentity: row.hasSharedIdentity ?? false,
    pendingCertificatesCount: row.pendingCertificatesCount,
    hostname: row.hostname,
  })
  for (const row of devices)
    for (const [field, value] of Object.entries(fieldsOf(row)))
      if (value !== undefined) values.get(row.deviceId)!.set(FIELD_PREFIX + field, value)
  expect(values.size).toBe(40)

  const nowMs = Date.now()
  const holding = (predicate: JsonExpr) =>
    [...values]
      .filter(([, values]) => evaluate(predicate, { valueOf: name => values.get(name), nowMs }) === true)
      .map(([deviceId]) => deviceId)
      .sort()
  let matches = 0
  const property = fc.asyncProperty(condition, async predicate => {
    fc.pre(problemsOf(predicate).length === 0)
    const expected = holding(predicate)
    const text = printPredicate(predicate)
    expect((await found(predicate)).sort(), text).toEqual(expected)
    const read = readPredicate(text)
    expect(printPredicate(read)).toBe(text)
    expect(holding(read), text).toEqual(expected)
    if (expected.length > 0 && expected.length < values.size) matches++
  })
  await fc.assert(property, { numRuns: 200, seed: inject('fuzzSeed') })
  // The generator is of use only if many predicates tell devices apart.
  expect(matches).toBeGreaterThan(20)
})

it('finds devices of the project only', async () => {
  const deviceId = await deviceRow(hub, otherProjectId, { name: 'elsewhere' })
  expect(await found(readPredicate('device.name = "elsewhere"'))).toEqual([])
  expect(await found(readPredicate('device.name = "elsewhere"'), otherProjectId)).toEqual([deviceId])
})

it('refuses a predicate with the place of each problem', async () => {
  await expect(found(readPredicate('device.name < 1 and a in 5'))).rejects.toMatchObject({
    kind: 'Invalid',
    issues: [
      {
        path: 'filter.predicate.exprs.0',
        message: 'found a text and a number, expected two numbers or two texts',
      },
      { path: 'filter.predicate.exprs.1', message: 'found a number, expected a list' },
    ],
  })
})

it.each<[string, JsonExpr]>([
  ['a path of 32 numbers', readPredicate(`list${'[0]'.repeat(32)} = 1`)],
  ['lists of conditions 22 deep', nestedIn(22, { kind: 'NamedValue', name: 'list' })],
  [
    'long lists 3 deep',
    nestedIn(3, { kind: 'Literal', value: Array.from({ length: 1_000 }, (_, at) => at) }),
  ],
  ['a list of 7,000 values', readPredicate(`list in [${'1,'.repeat(7_000)}1]`)],
])(
  'takes no longer for %s than for other predicates of its size',
  { timeout: 10_000 },
  async (_, predicate) => {
    expect(await found(predicate, otherProjectId)).toEqual([])
  },
)

/** Conditions that are one of a list, each of which is the value for the next. */
function nestedIn(levels: number, right: JsonExpr): JsonExpr {
  const left: JsonExpr = levels === 1 ? { kind: 'NamedValue', name: 'a' } : nestedIn(levels - 1, right)
  return { kind: 'In', left, right }
}

const deep = (levels: number): unknown =>
  levels === 0 ? { kind: 'NamedValue', name: 'a' } : { kind: 'Not', expr: deep(levels - 1) }

it.each<[string, unknown, object]>([
  ['nesting of 25 levels', deep(24), { path: expect.stringMatching(/^filter\.predicate(\.expr){24}$/) }],
  ['1 MB of text', { kind: 'Literal', value: 'x'.repeat(1_000_000) }, { path: 'filter.predicate' }],
  [
    '1 MB of conditions',
    { kind: 'Or', exprs: Array(30_000).fill(deep(0)) },
    { path: 'filter.predicate.exprs' },
  ],
  ['an unknown kind', { kind: 'Eval', expr: deep(0) }, { path: 'filter.predicate.kind' }],
  ['a value in place of an expression', { kind: 'Not', expr: 'a' }, { path: 'filter.predicate.expr' }],
  [
    'an unknown field',
    { kind: 'NamedValue', name: 'dev.muster.device.nam' },
    { message: expect.stringContaining('found the field "nam", expected one of name, ') },
  ],
  ['U+0000 in a name', { kind: 'NamedValue', name: 'a\0' }, { path: 'filter.predicate.name' }],
  [
    'U+0000 in a path',
    { kind: 'Exists', expr: deep(0), path: ['a\0'] },
    { path: expect.stringContaining('filter.predicate') },
  ],
  [
    'an index beyond all lists',
    { kind: 'Exists', expr: deep(0), path: [1e21] },
    { path: expect.stringContaining('filter.predicate.path') },
  ],
  [
    'what would take too long',
    readPredicate(Array.from({ length: 66 }, (_, at) => `a contains "${at}"`).join(' or ')),
    {
      message:
        'found a cost of 132 (2 for each property and label, 1 for each field, 8 more for each "satisfies"), expected at most 128',
    },
  ],
])('refuses %s before anything is read', async (_, predicate, issue) => {
  await expect(found(predicate as JsonExpr)).rejects.toMatchObject({ kind: 'Invalid', issues: [issue] })
})

it('D10: finds devices by requirements on their versions, also in a bulk action that goes on later', async () => {
  const versions = ['1.2.0', '1.10.0', '1.10.0-rc.1', 'v2.0.0', 'unknown', 7]
  const ids = new Map<string, unknown>()
  for (const version of versions) {
    const deviceId = await deviceRow(hub, otherProjectId, {})
    await owner.invoke('devices_SetProperty', { deviceId, name: 'firmware', value: version })
    ids.set(deviceId, version)
  }
  const of = async (text: string) =>
    (await found(readPredicate(text), otherProjectId)).map(deviceId => ids.get(deviceId)).toSorted()
  expect(await of('firmware satisfies ">=1.2.0, <2.0.0"')).toEqual(['1.10.0', '1.10.0-rc.1', '1.2.0'])
  expect(await of('not firmware satisfies ">=1.10"')).toEqual(['1.2.0'])
  expect(await of('firmware satisfies "=2.0.0+build"')).toEqual(['v2.0.0'])
  const { bulkActionId } = await owner.invoke('devices_CreateBulkDeletion', {
    projectId: otherProjectId,
    selection: { kind: 'filter', filter: { predicate: readPredicate('firmware satisfies ">1.2.0, <2"') } },
  })
  await hub.pool.query(
    `update device_property set value_json = '"1.1"', value = '"1.1"' where value_json = '"1.10.0-rc.1"'`,
  )
  await owner.invoke('devices_StartBulkDeletion', { projectId: otherProjectId, bulkActionId })
  // The device with the changed version stays.
  await expect.poll(() => of('firmware satisfies ">0"')).toEqual(['1.10.0-rc.1', '1.2.0', 'v2.0.0'])
})
