import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { machineFingerprint } from './machine-fingerprint.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const MACHINE_ID = 'b08dfa6083e7567a1921a715000001fb'

async function machine(id: string | undefined) {
  const folder = await temporaryFolder()
  const machineId = join(folder.path, 'machine-id')
  if (id !== undefined) await writeFile(machineId, `${id}\n`)
  return { ...folder, machineId, data: join(folder.path, 'data') }
}

it('is the same at every start', async () => {
  await using here = await machine(MACHINE_ID)
  const first = await machineFingerprint(here.data, here.machineId)
  expect(first).toMatch(/^d_sk_/)
  expect(await machineFingerprint(here.data, here.machineId)).toBe(first)
})

it('is the same for processes that start at once', async () => {
  await using here = await machine(MACHINE_ID)
  const all = await Promise.all(
    Array.from({ length: 8 }, () => machineFingerprint(here.data, here.machineId)),
  )
  expect(new Set(all).size).toBe(1)
})

it('differs between data folders of one machine', async () => {
  await using here = await machine(MACHINE_ID)
  expect(await machineFingerprint(`${here.data}1`, here.machineId)).not.toBe(
    await machineFingerprint(`${here.data}2`, here.machineId),
  )
})

it('differs for a copied data folder on another machine', async () => {
  await using here = await machine(MACHINE_ID)
  const original = await machineFingerprint(here.data, here.machineId)
  await writeFile(here.machineId, `${MACHINE_ID.replace('b', 'c')}\n`)
  expect(await machineFingerprint(here.data, here.machineId)).not.toBe(original)
})

it('works without a machine id and stays the same when one appears', async () => {
  await using here = await machine('uninitialized')
  const first = await machineFingerprint(here.data, here.machineId)
  await writeFile(here.machineId, `${MACHINE_ID}\n`)
  expect(await machineFingerprint(here.data, here.machineId)).toBe(first)
})

it('fails instead of becoming another device when the machine id is gone', async () => {
  await using here = await machine(MACHINE_ID)
  await machineFingerprint(here.data, here.machineId)
  await writeFile(here.machineId, '')
  await expect(machineFingerprint(here.data, here.machineId)).rejects.toThrow('found no machine id')
})

it('makes its file private and refuses a damaged one', async () => {
  await using here = await machine(MACHINE_ID)
  await machineFingerprint(here.data, here.machineId)
  const file = join(here.data, 'identity.json')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, 'utf8')).not.toContain(MACHINE_ID)
  await writeFile(file, '{"salt":"')
  await expect(machineFingerprint(here.data, here.machineId)).rejects.toThrow(
    'identity.json: found invalid content',
  )
})
