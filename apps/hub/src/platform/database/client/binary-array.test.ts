import { testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { binaryArray } from './binary-array.ts'

it('encodes an array that PostgreSQL reads back unchanged', async () => {
  await using hub = await testHub()
  const texts = ['plain', '', null, '{"quoted", \\back}', 'Ünïcödé 🛰', 'NULL', 'x'.repeat(100_000)]
  const jsons = ['{"a": "\\u0000"}', '[]', null, '"🛰"']
  const { rows } = await hub.pool.query<{ texts: string[]; jsons: string[]; none: string[] }>(
    'select $1::text[] as texts, $2::json[]::text[] as jsons, $3::text[] as none',
    [binaryArray('text', texts), binaryArray('json', jsons), binaryArray('text', [])],
  )
  expect(rows).toEqual([{ texts, jsons, none: [] }])
})
