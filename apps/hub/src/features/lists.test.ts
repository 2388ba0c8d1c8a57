import { type Action, type ActionName, actions, MAX_CURSOR_LENGTH, MAX_EMAIL_LENGTH } from '@muster/actions'
import { deviceRow, type TestHub, testHub } from '@muster/testkit'
import { ACTION_ROWS } from '@muster/testkit/action-rows'
import { addInvitation, NAMES } from '@muster/testkit/action-rows/list-items'
import type { Item, List, World } from '@muster/testkit/action-rows/row'
import { actionWorld } from '@muster/testkit/action-rows/world'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { sampleConnected } from './projects/project-status.ts'

type Answer = { items: Item[]; nextCursor: string | undefined; total: number | undefined }
type Ask = { limit?: number; cursor?: string; sort?: string; filter?: object }

const COUNT = NAMES.length

const lists = (Object.keys(ACTION_ROWS) as ActionName[]).flatMap(name => {
  const { list } = ACTION_ROWS[name]
  return list ? [[name, list] as const] : []
})
const sorted = lists.flatMap(([name, list]) =>
  Object.keys(list.sorts).map(sort => [name, sort, list] as const),
)

let hub: TestHub
let world: World

beforeAll(async () => {
  hub = await testHub()
  world = await actionWorld(hub)
  for (const [, list] of lists)
    for (const [index, name] of NAMES.entries()) await list.add(world, name, index)
  // Creates records of another tenant, which no list may contain.
  const { otherTenant } = world.people
  const foreignProjectId = await hub.project(otherTenant, await hub.organization(otherTenant), 'Gate')
  await hub.token(otherTenant, foreignProjectId)
  await deviceRow(hub, foreignProjectId, { name: 'Gate' })
})
afterAll(async () => {
  await world.s3[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

async function queryList(name: ActionName, { items }: List, input: Ask = {}): Promise<Answer> {
  const { member, organizationAdmin, instanceAdmin } = world.people
  const { may } = ACTION_ROWS[name]
  const administrator = may.includes('organizationAdmin') ? organizationAdmin : instanceAdmin
  const person = may.includes('member') ? member : administrator
  const scope = await ACTION_ROWS[name].input(world, member)
  const output = (await person.invoke(name, { ...scope, ...input } as never)) as unknown as Record<
    string,
    unknown
  >
  const { nextCursor, total } = output as { nextCursor?: string; total?: number }
  // The hub seals audit events (signs their hash) at any time, so their seals may differ between two answers.
  return { items: (output[items] as Item[]).map(({ seal, ...item }) => item), nextCursor, total }
}

async function* pages(name: ActionName, list: List, input: Ask): AsyncGenerator<Answer> {
  for (let cursor: string | undefined; ; ) {
    const page = await queryList(name, list, { ...input, ...(cursor !== undefined && { cursor }) })
    yield page
    if (page.nextCursor === undefined) return
    cursor = page.nextCursor
  }
}

async function all<T>(generator: AsyncGenerator<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of generator) items.push(item)
  return items
}

it('covers every action that lists and sorts', () => {
  const isList = ({ input }: Action): boolean => 'sort' in (input as z.ZodObject).shape
  const known = (Object.entries(actions) as [ActionName, Action][]).filter(([, action]) => isList(action))
  const withRow = Object.entries(ACTION_ROWS).filter(([, { list }]) => list !== undefined)
  expect(withRow.map(([name]) => name).sort()).toEqual(known.map(([name]) => name).sort())
})

describe.each(lists)('%s', (name, list) => {
  it('answers a call without `limit` with the whole list in default order, without page fields', async () => {
    const { items, nextCursor, total } = await queryList(name, list)
    expect(items.length).toBeGreaterThanOrEqual(COUNT)
    expect(nextCursor).toBeUndefined()
    expect(total).toBeUndefined()
    expect(await queryList(name, list, { sort: list.defaultSort })).toEqual({ items, nextCursor, total })
  })

  it('lists each item once', async () => {
    const { items } = await queryList(name, list)
    expect(new Set(items.map(item => item[list.id])).size).toBe(items.length)
  })

  it('returns the total with the first page, except in logs', async () => {
    const { items } = await queryList(name, list)
    for (const limit of [1, 4, items.length - 1, items.length, 500])
      expect((await queryList(name, list, { limit })).total).toBe(list.hasNoTotal ? undefined : items.length)
  })

  it('returns no cursor with a page that has all remaining items', async () => {
    const { items } = await queryList(name, list)
    expect(await queryList(name, list, { limit: items.length })).toEqual({
      items,
      nextCursor: undefined,
      total: list.hasNoTotal ? undefined : items.length,
    })
    expect((await queryList(name, list, { limit: items.length - 1 })).nextCursor).toBeDefined()
  })

  it.each([
    ['is not base64url', '!!!', 400],
    ['is not JSON', encode('x'), 409],
    ['is not a list', encode('{}'), 409],
    ['is null', encode('null'), 409],
    ['is too short', encode('["name"]'), 409],
    ['is too long', encode('["name","a","b","c"]'), 409],
    ['contains numbers', encode('["name",1,2]'), 409],
    ['names a property of Object.prototype as its order', encode('["constructor","a","b"]'), 409],
    ['exceeds the maximal length', 'x'.repeat(MAX_CURSOR_LENGTH + 1), 400],
    ['contains NUL', 'a\0b', 400],
  ])('refuses a cursor that %s', async (_what, cursor, status) => {
    await expect(queryList(name, list, { limit: 2, cursor })).rejects.toMatchObject({
      kind: 'Invalid',
      status,
    })
  })

  it('refuses or answers a forged cursor without an internal error', async () => {
    for (const sort of Object.keys(list.sorts)) {
      for (const value of [
        '',
        'junk',
        '\0',
        '\ud800',
        '1e999',
        'infinity',
        '2026-01-01',
        "'",
        'true',
        '-1',
      ]) {
        const cursor = encode(JSON.stringify([sort, value, value]))
        const outcome = await queryList(name, list, { limit: 2, sort, cursor }).then(
          () => 'answered',
          (error: { kind: string }) => error.kind,
        )
        expect(['answered', 'Invalid'], `${sort} after ${JSON.stringify(value)}`).toContain(outcome)
      }
    }
  })

  it('treats an empty cursor as a missing one', async () => {
    expect((await queryList(name, list, { limit: 2, cursor: '' })).items).toEqual(
      (await queryList(name, list, { limit: 2 })).items,
    )
  })

  it('lists everything for an empty, blank or unknown filter', async () => {
    const { items } = await queryList(name, list)
    for (const filter of [{}, { text: '' }, { text: '  ' }, { text: null }, { unknown: 1 }])
      expect((await queryList(name, list, { filter })).items).toEqual(items)
  })
})

describe.each(lists.filter(([, list]) => list.hasText))('%s filtered by text', (name, list) => {
  it('finds a literal text anywhere in a name, in any letter case', async () => {
    const named = async (filter: string): Promise<unknown[]> =>
      (await queryList(name, list, { filter: { text: filter } })).items.map(
        item => item[list.named ?? 'name'],
      )
    expect(await named('%')).toEqual(['100 %'])
    expect(await named('a_b')).toEqual(['a_b'])
    expect(await named('\\')).toEqual(['back\\slash'])
    expect(await named("'")).toEqual(["O'Neil"])
    expect(await named('"')).toEqual(['q"uote'])
    expect(await named('漢')).toEqual(['漢字'])
    expect(await named('😀')).toEqual(['😀'])
    expect(await named('%%')).toEqual([])
    expect(await named('\\_')).toEqual([])
    expect((await named('ZEBRA')).sort()).toEqual(['Zebra', 'zebra'])
    expect((await named('ATE')).length).toBeGreaterThanOrEqual(4)
  })

  it('finds an item by its id or a part of it', async () => {
    const { items } = await queryList(name, list)
    const id = items[5]![list.id] as string
    for (const text of [id, id.slice(0, -1), id.slice(4)]) {
      const found = await queryList(name, list, { filter: { text } })
      expect(found.items.map(item => item[list.id])).toEqual([id])
    }
  })

  it('counts and pages the filtered items', async () => {
    const whole = await queryList(name, list, { filter: { text: 'gate' } })
    const parts = await all(pages(name, list, { filter: { text: 'gate' }, limit: 2 }))
    expect(parts.flatMap(({ items }) => items)).toEqual(whole.items)
    expect(parts[0]!.total).toBe(whole.items.length)
  })
})

describe.each(sorted)('%s sorted by %s', (name, sort, list) => {
  it('has the same order in pages as in the whole list, in both directions', async () => {
    for (const order of [sort, `-${sort}`]) {
      const whole = await queryList(name, list, { sort: order })
      for (const limit of [4, 9]) {
        const parts = await all(pages(name, list, { sort: order, limit }))
        expect(parts.flatMap(({ items }) => items)).toEqual(whole.items)
        expect(parts.slice(1).every(({ total }) => total === undefined)).toBe(true)
        expect(parts.slice(0, -1).every(({ items }) => items.length === limit)).toBe(true)
      }
    }
  })

  it('is in order, and reversed with a leading minus sign', async () => {
    const up = (await queryList(name, list, { sort })).items
    const down = (await queryList(name, list, { sort: `-${sort}` })).items
    expect(down).toEqual(up.toReversed())
    const keys = up.map(item => list.sorts[sort]!(item, world))
    // The collation of the database decides the sort order of strings, which JavaScript cannot reproduce. So the test checks only that
    // equal strings are adjacent.
    if (typeof keys[0] === 'string')
      expect(keys.filter((key, at) => key !== keys[at - 1]).length).toBe(new Set(keys).size)
    else expect(keys).toEqual(keys.toSorted((a, b) => Number(a) - Number(b)))
  })

  it('refuses a cursor of another order', async () => {
    const { nextCursor } = await queryList(name, list, { sort, limit: 2 })
    const other = queryList(name, list, { sort: `-${sort}`, limit: 2, cursor: nextCursor! })
    await expect(other).rejects.toMatchObject({ kind: 'Invalid' })
  })

  it('neither repeats nor skips an item when others are added between two pages', async () => {
    // The job that stores the counts of projects could otherwise change their order between two pages.
    if (name === 'organizations_QueryProjects') await sampleConnected(world.hub.db)
    const before = (await queryList(name, list, { sort })).items.map(item => item[list.id])
    const seen: unknown[] = []
    let round = 0
    for await (const { items } of pages(name, list, { sort, limit: 6 })) {
      seen.push(...items.map(item => item[list.id]))
      // These names sort before, near and after the cursor.
      if (round++ < 3)
        for (const other of ['  inner  blanks', 'Gate', 'zzz']) await list.add(world, other, round * 5)
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.filter(id => before.includes(id))).toEqual(before)
  })
})

it('continues a list after values of maximal length', async () => {
  const emails = ['😀', '😁'].map(letter => `${letter.repeat(MAX_EMAIL_LENGTH - 13)}@test.example`)
  for (const email of emails) await addInvitation(world, world.organizationId, email, 0)
  const list = ACTION_ROWS.organizations_QueryInvitations.list!
  const parts = await all(
    pages('organizations_QueryInvitations', list, { sort: 'email', limit: 1, filter: { text: '@test' } }),
  )
  expect(parts.slice(-2).map(({ items }) => items[0]!.email)).toEqual(emails)
})

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}
