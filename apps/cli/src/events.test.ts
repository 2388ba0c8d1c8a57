import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Muster, muster, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

let hub: TestHub
let fleet: Awaited<ReturnType<TestHub['fleet']>>
let cli: Muster

beforeAll(async () => {
  hub = await testHub()
  fleet = await hub.fleet()
  cli = await muster({ MUSTER_HUB: hub.url, MUSTER_TOKEN: await hub.userToken(fleet.owner) })
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

const rename = (name: string) => fleet.owner.invoke('projects_SetName', { projectId: fleet.projectId, name })
const namesIn = (text: string): string[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line).data.data.name)

it('follows the feed of events, and goes on after a kill without gap or double', async () => {
  const { organizationId } = fleet
  const argv = [
    'events',
    'follow',
    organizationId,
    '--types',
    'projects.NameChanged',
    '--state',
    'cursor',
    '--json',
  ]
  expect(await cli.run(argv)).toMatchObject({ code: 1, err: expect.stringContaining('is off') })
  expect(await cli.run(['events', 'on', organizationId])).toMatchObject({ code: 0, out: 'Turned on.\n' })
  const seen: string[] = []
  for (const names of [['a', 'b'], ['d'], []]) {
    const { child, out, err, ended } = cli.start(argv)
    await until('it follows', () => readFile(join(cli.folder, 'cursor'), 'utf8').catch(() => false))
    for (const name of names) await rename(name)
    const expected = [
      ...(seen.length > 0 && seen.at(-1) !== 'd' ? ['c'] : []),
      ...(names.length === 0 ? ['e'] : names),
    ]
    await until('they are printed', () => namesIn(out()).length >= expected.length)
    const stored = JSON.parse(out().trim().split('\n').at(-1)!).cursor
    await until('its place is stored', async () => {
      const [at] = [await readFile(join(cli.folder, 'cursor'), 'utf8')]
      return Number(at.split('.')[1]) >= Number(stored.split('.')[1])
    })
    child.kill('SIGKILL')
    await ended
    expect(err()).toBe('')
    expect(namesIn(out())).toEqual(expected)
    seen.push(...namesIn(out()))
    // Happens while nobody follows.
    await rename(seen.at(-1) === 'b' ? 'c' : 'e')
  }
  expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'])
})

it('says that a cursor is too old, and ends', async () => {
  const argv = ['events', 'follow', fleet.organizationId, '--after', 'e.1']
  expect(await cli.run(argv)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('Found a cursor from before a restore'),
  })
})

it('prints a line for people', async () => {
  const { child, out, ended } = cli.start(['events', 'follow', fleet.organizationId, '--from-start'])
  await until('events are printed', () => out().includes('projects.NameChanged  {'))
  child.kill('SIGINT')
  await ended
  expect(out()).toMatch(/^\d{4}-\S+Z {2}events\.FeedChanged {2}\{"isOn":true,.*\}$/m)
})
