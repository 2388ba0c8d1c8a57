import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Muster, muster, type TestHub, testHub, until } from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, 'main.ts')
/** Program of util-linux that runs another program on a pseudo-terminal. */
const SCRIPT = '/usr/bin/script'

let hub: TestHub
let token: string
let cli: Muster

beforeAll(async () => {
  hub = await testHub()
  const owner = await hub.user()
  token = await hub.userToken(owner)
  await hub.repository(owner, await hub.organization(owner), { name: 'firmware' })
  cli = await muster({ MUSTER_HUB: hub.url, MUSTER_TOKEN: token })
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

/** Runs `muster` on a pseudo-terminal. */
function onTerminal(argv: string[], env: Record<string, string> = {}) {
  const child = spawn(SCRIPT, ['-qec', [process.execPath, MAIN, ...argv].join(' '), '/dev/null'], {
    cwd: cli.folder,
    env: { HOME: cli.folder, PATH: '/usr/bin:/bin', TERM: 'xterm', ...env },
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  return { child, screen: () => Buffer.concat(chunks).toString() }
}

describe.skipIf(!existsSync(SCRIPT))('on a terminal', () => {
  it('an upload shows a bar for each file', async () => {
    for (const name of ['one.raw', 'two.raw']) await writeFile(join(cli.folder, name), randomBytes(2_000_000))
    const { child, screen } = onTerminal(['assets', 'upload', 'firmware', 'one.raw', 'two.raw'], {
      MUSTER_HUB: hub.url,
      MUSTER_TOKEN: token,
    })
    await once(child, 'close')
    expect(child.exitCode).toBe(0)
    expect(screen()).toMatch(/█+ 100% one\.raw uploaded/)
    expect(screen()).toMatch(/█+ 100% two\.raw uploaded/)
  })

  it('login asks for hub and token, and does not show the token', async () => {
    const { child, screen } = onTerminal(['login'])
    await until('it asks for the hub', () => screen().includes('Hub address: '))
    child.stdin.write(`${hub.url}\r`)
    await until('it asks for the token', () => screen().includes('User token'))
    child.stdin.write(`${token}\r`)
    await once(child, 'close')
    expect(child.exitCode).toBe(0)
    expect(screen()).toContain(hub.url)
    expect(screen()).toContain('Signed in at')
    expect(screen()).not.toContain(token.slice(5, 20))
  })

  it.each([
    ['standard error goes to a file', ['2>err.txt'], {}],
    ['the terminal is a dumb one', [], { TERM: 'dumb' }],
  ])('login asks on the terminal and does not show the token when %s', async (_when, redirection, env) => {
    const { child, screen } = onTerminal(['login', '--hub', hub.url, ...redirection], env)
    await until('it asks for the token', () => screen().includes('User token'))
    child.stdin.write(`${token}\r`)
    await once(child, 'close')
    expect(child.exitCode).toBe(0)
    expect(screen()).toContain('Signed in at')
    expect(screen()).not.toContain(token.slice(5, 20))
  })

  it('login stops with Ctrl-C', async () => {
    const { child, screen } = onTerminal(['login', '--hub', hub.url])
    await until('it asks for the token', () => screen().includes('User token'))
    child.stdin.write('\u0003')
    await once(child, 'close')
    expect(child.exitCode).not.toBe(0)
    expect(screen()).not.toContain('Signed in')
  })
})

it('in a log an upload prints plain lines without colours, and one result', async () => {
  await writeFile(join(cli.folder, 'log.raw'), randomBytes(1000))
  const { code, out, err } = await cli.run(['assets', 'upload', 'firmware', 'log.raw', '--json'])
  expect(code).toBe(0)
  expect(err).toBe('log.raw: 1000 bytes\nlog.raw: uploaded\n')
  expect(JSON.parse(out)).toHaveLength(1)
  expect(out + err).not.toContain('\u001b')
})

it('an interrupted upload exits at once with 1', async () => {
  await writeFile(join(cli.folder, 'large.raw'), randomBytes(30_000_000))
  const { child, err, ended } = cli.start(['assets', 'upload', 'firmware', 'large.raw'])
  await until('it begins', () => err().includes('large.raw: 30000000 bytes'))
  child.kill('SIGINT')
  expect(await ended).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('muster: stopped by SIGINT\n'),
  })
  expect((await cli.run(['assets', 'upload', 'firmware', 'large.raw'])).code).toBe(0)
})
