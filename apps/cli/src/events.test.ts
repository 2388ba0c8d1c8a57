import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Muster, muster, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

let hub: TestHub
let fleet: Awaited<ReturnType<TestHub['fleet']>>
let cli: Muster

beforeAll(async () => {
  hub = await testHub({ webhooksAllow: ['127.0.0.0/8'], otlpAllow: ['127.0.0.0/8'] })
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

it('makes, tests, replays and deletes a webhook', async () => {
  let status = 500
  const server = createServer((request, response) =>
    request.resume().on('end', () => response.writeHead(status).end('answer')),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  const { organizationId } = fleet
  const create = [
    'webhooks',
    'create',
    organizationId,
    'Tickets',
    '--url',
    url,
    '--types',
    'projects.NameChanged',
  ]
  expect(await cli.run(create)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/Answered 500 after \d+ ms\. "answer" Use --no-test/),
  })
  status = 200
  const made = await cli.run(create)
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^wh_\w{22}\nwhsec_\S{44}\n$/) })
  const webhookId = made.out.split('\n')[0]!
  expect((await cli.run(['webhooks', 'test', webhookId])).out).toMatch(
    /^Answered 200 after \d+ ms\. "answer"\n$/,
  )
  await rename('webhook')
  const log = await until('it is delivered', async () => {
    const rows = await cli.json<{ messageId: string; type: string }[]>('webhooks', 'log', webhookId)
    return rows.find(({ type }) => type === 'projects.NameChanged')
  })
  expect((await cli.run(['webhooks', 'replay', webhookId, log.messageId])).out).toBe('It is sent again.\n')
  expect(
    (await cli.run(['webhooks', 'replay', webhookId, '--failed-since', '2026-01-01T00:00:00Z'])).out,
  ).toContain(': 0')
  expect((await cli.run(['webhooks', 'rotate', webhookId])).out).toMatch(/^whsec_/)
  expect((await cli.run(['webhooks', 'off', webhookId])).out).toBe('Turned off.\n')
  expect(await cli.json('webhooks', 'list', organizationId)).toMatchObject([
    { webhookId, state: 'Off', types: ['projects.NameChanged'] },
  ])
  expect((await cli.run(['webhooks', 'start', webhookId, 'send'])).out).toBe('Started.\n')
  expect((await cli.run(['webhooks', 'delete', webhookId])).out).toBe('Deleted.\n')
  server.close()
})

it('sets and shows the export of the events of a project', async () => {
  const config = { enabled: true, endpoint: 'http://127.0.0.1:9', headers: { 'x-key': 'very secret' } }
  const file = join(cli.folder, 'otlp.json')
  await writeFile(file, JSON.stringify(config))
  const { projectId, organizationId } = fleet
  expect(await cli.run(['projects', 'otlp', 'set', projectId, '--file', file])).toMatchObject({
    code: 0,
    out: 'Changed.\n',
  })
  const shown = await cli.json<typeof config>('projects', 'otlp', 'get', projectId)
  expect(shown).toEqual({ ...config, headers: { 'x-key': '********' } })
  const changed = JSON.stringify({ ...shown, enabled: false })
  expect((await cli.run(['projects', 'otlp', 'set', projectId, changed])).out).toBe('Changed.\n')
  expect(await cli.json('webhooks', 'list', organizationId)).toMatchObject([{ format: 'otlp', state: 'Off' }])
  expect(await cli.run(['projects', 'otlp', 'set', projectId, '{"enabled": true}'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('headers'),
  })
})
