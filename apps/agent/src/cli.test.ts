import { type StdioOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { until } from '@muster/testkit/until'
import { describe, expect, it } from 'vitest'
import { createDeviceCertificate } from './certificate.ts'
import { runCli } from './cli.ts'
import { FakeHub } from './testing/fake-hub.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const MAIN = join(import.meta.dirname, '../muster-agent.js')
const TOKEN = `deployment_${'1'.repeat(66)}`

/** Runs the agent's CLI in this process. Ends its standard input once its standard error contains `until`. */
async function cli(argv: string[], options: { signal?: AbortSignal; until?: string } = {}) {
  let [out, err] = ['', '']
  const input = new PassThrough()
  const code = await runCli(argv, {
    out: text => {
      out += text
    },
    err: text => {
      err += text
      if (options.until !== undefined && err.includes(options.until)) input.end()
    },
    input: () => input,
    signal: options.signal ?? new AbortController().signal,
    environment: {},
  })
  return { code, out, err }
}

/** Runs a CLI command as a device of a fake hub. */
async function atHub(hub: FakeHub, ...argv: string[]) {
  await using folder = await temporaryFolder()
  return await cli([...argv, '--hub', hub.url, '--token', TOKEN, '--data', folder.path])
}

/** Runs a command under a user id without an entry in /etc/passwd, as in containers. */
function asHomeless(...argv: string[]) {
  const account = { uid: 54_321, gid: 54_321 }
  return spawnSync(process.execPath, [MAIN, ...argv], { ...account, cwd: '/', env: {}, encoding: 'utf8' })
}

const hasHomeless = process.getuid?.() === 0 && asHomeless('--version').status === 0

describe('usage', () => {
  it.each([
    [['nonsense'], 'unknown command'],
    [['run', '--config', 'a', '--hub', 'b', '--token', 'c'], '--config and --hub exclude each other'],
    [['run', '--token', TOKEN], '--hub and --token belong together'],
    [['run', '--hub', 'https://hub'], 'no terminal to ask for the token'],
    [
      ['run', '--hub', 'https://hub', '--token', TOKEN, '--token-file', 'a'],
      '--token and --token-file exclude each other',
    ],
    [['simulate', '--hub', 'https://h', '--count', '1'], 'no terminal to ask for the token'],
    [['run', '--data', '/tmp'], 'need --hub and --token'],
    [['run', 'extra'], 'too many arguments'],
    [['device', 'properties', 'get'], "missing required argument 'name'"],
    [['device', 'properties', 'get', '-'], 'Expected a name of 1 to 256'],
    [['device', 'properties', 'set', 'a', '{'], 'Expected JSON.'],
    [['events', 'emit'], "missing required argument 'json'"],
    [['events', 'emit', 'hello'], 'Expected JSON.'],
    [
      ['events', 'emit', '1', '--severity', 'Info'],
      'Allowed choices are trace, debug, info, warning, error, critical',
    ],
    [['events', 'emit', '1', '--attribute', 'a'], 'Expected KEY=JSON'],
    [['events', 'emit', '1', '--attribute', 'a=b'], 'Expected KEY=JSON'],
    [['events', 'emit', '1', '--emitted-at', 'yesterday'], 'Expected RFC 3339'],
    [['events', 'emit', '1', '--category', ''], 'Expected 1 to 128 characters'],
    [['simulate'], 'required option'],
    [['simulate', '--hub', 'https://h', '--token', TOKEN, '--count', '0'], 'Expected an integer from 1'],
    [
      ['simulate', '--hub', 'https://h', '--token', TOKEN, '--count', '1', '--rate', '-1'],
      'Expected a number above 0',
    ],
    [
      ['simulate', '--hub', 'https://h', '--token', TOKEN, '--count', '1', '--duration', '2147484'],
      'Expected 0.001 to 2147483 seconds',
    ],
    [
      ['simulate', '--hub', 'https://h', '--token', TOKEN, '--count', '1', '--config', 'a'],
      '--config and --hub exclude each other',
    ],
    [['run', '--log-level', 'loud'], 'Allowed choices are off, error, warn, info, debug, trace'],
    [['run', '--log-format', 'json'], 'Allowed choices are compact, full'],
  ])('refuses %j', async (argv, message) => {
    const { code, out, err } = await cli(argv)
    expect(err).toContain(message)
    expect(out).toBe('')
    expect(code).toBe(2)
  })

  it('prints help and version with 0', async () => {
    expect(await cli(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('simulate') })
    expect(await cli(['--version'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
  })

  it('looks up the home folder only when needed, because an account may lack one', async () => {
    expect((await cli(['run', '--help'])).out.replace(/\s+/g, ' ')).toContain('~/.local/state/muster-agent')
  })

  it.runIf(hasHomeless)('asks for a folder if the account has no home', () => {
    const at = ['--hub', 'http://127.0.0.1:1', '--token', TOKEN]
    expect(asHomeless('run', ...at).stderr).toMatch(
      /^\S+ error --data: found no home of this account, expected a folder for the identity of this device\n$/,
    )
    const simulated = asHomeless('simulate', ...at, '--count', '1', '--duration', '0.5')
    expect(simulated.stdout).toContain('0 of 1 devices were connected')
  })

  it('fails with 1 and one line for a configuration that cannot be used', async () => {
    const { code, out, err } = await cli(['run', '--config', '/nowhere/agent.toml'])
    expect(code).toBe(1)
    expect(out).toBe('')
    expect(err).toMatch(/^\S+ error --config: found \/nowhere\/agent.toml \(ENOENT\), expected [^\n]+\n$/)
    expect((await cli(['device', 'id', '--hub', 'http://10.0.0.1', '--token', TOKEN])).err).toContain(
      '--dangerous-allow-plaintext',
    )
  })
})

it('accepts the options of the public agent before its command', async () => {
  const argv = ['--config', '/nowhere/agent.toml', '--log-format', 'full', '--log-level', 'trace', 'run']
  expect(await cli(argv)).toMatchObject({ code: 1, err: expect.stringContaining('/nowhere/agent.toml') })
  expect(await cli([...argv.slice(0, 5), 'off', 'run'])).toMatchObject({ code: 1 })
})

it('never shows a token, even if it was passed to another option', async () => {
  for (const argv of [
    ['run', '--hub', TOKEN, '--token', 'https://hub.example.com'],
    ['run', '--config', TOKEN],
    ['device', TOKEN],
  ]) {
    const { code, err } = await cli(argv)
    expect(code).not.toBe(0)
    expect(err).toContain('deployment_…')
    expect(err).not.toContain(TOKEN)
  }
})

describe('a process', () => {
  it('resolves files from the folder of the caller when npm starts it elsewhere', async () => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'agent.toml'), 'hub-url = nonsense')
    const { stderr } = spawnSync(process.execPath, [MAIN, 'device', 'id', '--config', 'agent.toml'], {
      encoding: 'utf8',
      env: { npm_lifecycle_event: 'agent', INIT_CWD: folder.path },
    })
    expect(stderr).toContain('agent.toml: found a syntax error in line 1')
  })

  it('trusts an authority that was added to the system while it ran', async () => {
    const own = createDeviceCertificate('localhost')
    await using hub = await FakeHub.start(own)
    await using folder = await temporaryFolder()
    const authorities = join(folder.path, 'authorities.pem')
    await writeFile(authorities, createDeviceCertificate().certificatePem)
    const address = hub.url.replace('127.0.0.1', 'localhost')
    const argv = [MAIN, 'run', '--hub', address, '--token', TOKEN, '--data', join(folder.path, 'data')]
    const child = spawn(process.execPath, argv, {
      env: { SSL_CERT_FILE: authorities, SSL_CERT_DIR: folder.path },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let log = ''
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
    await using _agent = {
      async [Symbol.asyncDispose]() {
        child.kill()
        await once(child, 'close')
      },
    }
    await until('it is refused', () => log.includes('self-signed certificate'))
    expect(hub.connections).toEqual([])
    await writeFile(authorities, own.certificatePem)
    await until('it is connected', () => log.includes('connected as'))
  })

  /** Runs the agent as a device of a fake hub, with the given stdio. `shell` is the shell script that starts it. */
  async function agentOf(hub: FakeHub, argv: string[], stdio: StdioOptions, shell = 'exec "$@"') {
    const folder = await temporaryFolder()
    const identity = ['--hub', hub.url, '--token', TOKEN, '--data', join(folder.path, 'data')]
    const words = ['-c', shell, 'sh', process.execPath, MAIN, ...argv, ...identity]
    const child = spawn('sh', words, { stdio })
    const err = child.stderr ? text(child.stderr) : ''
    const ended = once(child, 'close').then(async ([code]) => ({ code: code as number, err: await err }))
    return {
      path: folder.path,
      child,
      ended,
      async [Symbol.asyncDispose]() {
        child.kill()
        await ended
        await folder[Symbol.asyncDispose]()
      },
    }
  }
  const full = () => openSync('/dev/full', 'w')

  it('reports in one line that its result cannot be written', async () => {
    await using hub = await FakeHub.start()
    await using agent = await agentOf(hub, ['device', 'id'], ['ignore', full(), 'pipe'])
    expect(await agent.ended).toEqual({
      code: 1,
      err: expect.stringMatching(/^\S+ error found ENOSPC writing the result, [^\n]+\n$/),
    })
  })

  it('exits silently when the reader of its result has gone', async () => {
    await using hub = await FakeHub.start()
    await using agent = await agentOf(hub, ['device', 'id'], ['ignore', 'pipe', 'pipe'])
    ;(agent.child.stdout as Readable).destroy()
    expect(await agent.ended).toEqual({ code: 0, err: '' })
  })

  it('stays connected when its log cannot be written', async () => {
    await using hub = await FakeHub.start()
    await using agent = await agentOf(hub, ['run'], ['ignore', 'ignore', full()])
    await until('it has connected', () => hub.callsOf('devices_SetProperty').length > 0)
    hub.crash()
    await until('it has connected again', () => hub.connections.length > 1)
    agent.child.kill('SIGTERM')
    expect(await agent.ended).toMatchObject({ code: 0 })
  })

  it('leaves no unfinished files when the disk is too full for its identity', async () => {
    await using hub = await FakeHub.start()
    await using agent = await agentOf(
      hub,
      ['device', 'id'],
      ['ignore', 'ignore', 'pipe'],
      'ulimit -f 0; exec "$@"',
    )
    expect(await agent.ended).toMatchObject({ code: 1, err: expect.stringContaining('EFBIG') })
    expect(await readdir(join(agent.path, 'data'))).toEqual([])
  })

  it('fails in one line when the disk is too full for an event that cannot be sent', async () => {
    await using hub = await FakeHub.start()
    hub.refusals.push({ status: 503 }, { status: 503 })
    const twice = '"$@"; ulimit -f 0; exec "$@"'
    await using agent = await agentOf(hub, ['events', 'emit', '1'], ['ignore', 'ignore', 'pipe'], twice)
    const { code, err } = await agent.ended
    expect(code).toBe(1)
    expect(err).toMatch(
      /^\S+ warn [^\n]+ is in the queue [^\n]+\n\S+ error event not sent \([^\n]+\) and not queued in [^\n]+: EFBIG[^\n]+\n$/,
    )
    const files = await readdir(join(agent.path, 'data/events'), { recursive: true })
    expect(files.filter(name => name.endsWith('.json'))).toHaveLength(1)
  })
})

describe('one-shot commands', () => {
  it('prints the id of the device, over a connection that is not registered', async () => {
    await using hub = await FakeHub.start()
    expect(await atHub(hub, 'device', 'id')).toEqual({ code: 0, out: 'd_z7L73xZdkkMgwbAmTVcyXu\n', err: '' })
    expect(hub.requests[0]!['x-register-connection']).toBe('false')
  })

  it('sends JSON exactly as written, and prints the answer of the hub unchanged', async () => {
    await using hub = await FakeHub.start()
    const value = '{"b": 1.0, "a":12345678901234567890123, "10": null, "2":"\\u00fc"}'
    expect(await atHub(hub, 'device', 'properties', 'set', 'x.y', value)).toMatchObject({
      code: 0,
      out: '{"result":"Set"}\n',
    })
    expect(hub.calls.at(-1)!.inputText).toBe(
      `{"deviceId":"d_z7L73xZdkkMgwbAmTVcyXu","name":"x.y","value":${value}}`,
    )
    hub.answers.devices_GetProperty = `{"result":"Found","value":${value}}`
    expect((await atHub(hub, 'device', 'properties', 'get', 'x.y')).out).toBe(
      `${hub.answers.devices_GetProperty}\n`,
    )
  })

  it('accepts negative numbers and removes properties', async () => {
    await using hub = await FakeHub.start()
    expect((await atHub(hub, 'device', 'properties', 'set', 'n', '-5.0')).code).toBe(0)
    expect(hub.calls.at(-1)!.inputText).toContain('"value":-5.0}')
    hub.answers.devices_RemoveProperty = '{"result":"NotFound"}'
    expect((await atHub(hub, 'device', 'properties', 'remove', 'n')).out).toBe('{"result":"NotFound"}\n')
  })

  it('issues a token with claims exactly as written', async () => {
    await using hub = await FakeHub.start()
    hub.answers.devices_IssueDeviceToken = '{"jwt":"a.b.c"}'
    const claims = '{"b":1.0,"a":2}'
    expect(
      await atHub(hub, 'device', 'tokens', 'issue', '--valid-for', '60', '--claims', claims),
    ).toMatchObject({
      code: 0,
      out: '{"jwt":"a.b.c"}\n',
    })
    expect(hub.calls.at(-1)!.inputText).toBe(
      `{"deviceId":"d_z7L73xZdkkMgwbAmTVcyXu","validForSecs":60,"claims":${claims}}`,
    )
  })

  it('finds versions and files by path or id', async () => {
    await using hub = await FakeHub.start()
    const [versionId, assetId] = [`pkg_v_${'2'.repeat(22)}`, `repo_a_${'3'.repeat(22)}`]
    const found = { result: 'Found', versionId, assetId }
    hub.answers.repositories_ResolveVersionByPath = JSON.stringify(found)
    hub.answers.repositories_ResolveVersionAssetByPath = JSON.stringify(found)
    hub.answers.repositories_GetVersionDetails = '{"metadata":{"b":1.0}}'
    hub.answers.repositories_IssueAssetDownloadUrl = '{"url":"http://hub/x"}'
    expect((await atHub(hub, 'repositories', 'versions', 'info', 'fleet/pump/stable')).out).toBe(
      '{"metadata":{"b":1.0}}\n',
    )
    expect(hub.callsOf('repositories_ResolveVersionByPath')[0]!.input).toEqual({
      repository: 'fleet',
      package: 'pump',
      tag: 'stable',
    })
    expect(hub.calls.at(-1)!.input).toEqual({ versionId })
    expect((await atHub(hub, 'repositories', 'issue-url', 'fleet/pump/stable/boot/image.raw')).code).toBe(0)
    expect(hub.callsOf('repositories_ResolveVersionAssetByPath')[0]!.input).toMatchObject({
      filename: 'boot/image.raw',
    })
    expect(hub.calls.at(-1)!.input).toEqual({ assetId })
    expect((await atHub(hub, 'repositories', 'issue-url', assetId, '--filename', 'a.raw')).out).toBe(
      '{"url":"http://hub/x"}\n',
    )
    expect(hub.calls.at(-1)!.input).toEqual({ assetId, filename: 'a.raw' })
  })

  it('prints NotFound for scripts, and fails when a required record does not exist', async () => {
    await using hub = await FakeHub.start()
    const missing = '{"result":"NotFound"}'
    hub.answers.repositories_ResolveName = missing
    hub.answers.repositories_ResolveVersionByPath = missing
    expect(await atHub(hub, 'repositories', 'resolve', 'fleet')).toMatchObject({
      code: 0,
      out: `${missing}\n`,
    })
    expect(await atHub(hub, 'repositories', 'versions', 'resolve', 'a/b/c')).toMatchObject({
      out: `${missing}\n`,
    })
    const info = await atHub(hub, 'repositories', 'versions', 'info', 'a/b/c')
    expect(info).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('there is no version "a/b/c"'),
    })
    const wrong = await atHub(hub, 'repositories', 'issue-url', 'a/b/c')
    expect(wrong).toMatchObject({
      code: 1,
      err: expect.stringContaining('expected repository/package/tag/file'),
    })
  })

  it('emits an event with all options', async () => {
    await using hub = await FakeHub.start()
    const options = [
      '--severity',
      'critical',
      '--category',
      'power',
      '--attribute',
      'a=1',
      '--attribute',
      'b="x=y"',
    ]
    const { code, out } = await atHub(
      hub,
      'events',
      'emit',
      ...options,
      '--emitted-at',
      '2026-01-02T03:04:05.123456789+01:00',
      '{"big":1e400}',
    )
    expect(code).toBe(0)
    const { eventId } = JSON.parse(out) as { eventId: string }
    expect(eventId).toMatch(/^d_ev_\d{8}-\d{4}-[1-9A-HJ-NP-Za-km-z]{8}$/)
    expect(hub.calls.at(-1)).toMatchObject({
      name: 'devices_PublishEvents',
      input: {
        events: [
          {
            eventId,
            category: 'power',
            severity: 'Critical',
            attributes: { a: 1, b: 'x=y' },
            emittedAt: '2026-01-02T03:04:05.123456789+01:00',
          },
        ],
      },
    })
    expect(hub.calls.at(-1)!.inputText).toContain('"body":{"big":1e400}')
  })

  it('has defaults for an event', async () => {
    await using hub = await FakeHub.start()
    await atHub(hub, 'events', 'emit', '"hello"')
    const [event] = hub.calls.at(-1)!.input.events as Record<string, unknown>[]
    expect(event).toMatchObject({ severity: 'Info', body: 'hello', attributes: {} })
    expect(event).not.toHaveProperty('category')
    expect(Math.abs(Date.parse(String(event?.emittedAt)) - Date.now())).toBeLessThan(60_000)
  })

  it('fails with 1 and the message of the hub', async () => {
    await using hub = await FakeHub.start()
    hub.errors.devices_SetProperty = 'The property "x" is protected.'
    expect(await atHub(hub, 'device', 'properties', 'set', 'x', '1')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('error The property "x" is protected.'),
    })
    hub.refusals.push({ status: 403, body: '{"kind":"Forbidden","message":"certificate is pending"}' })
    const refused = await atHub(hub, 'device', 'id')
    expect(refused).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('accept it in the console'),
    })
  })
})

describe('simulate', () => {
  it('simulates a fleet for a while and prints a summary', async () => {
    await using hub = await FakeHub.start()
    const argv = [
      'simulate',
      '--hub',
      hub.url,
      '--token',
      TOKEN,
      '--count',
      '7',
      '--while-stdin-open',
      '--no-outages',
    ]
    const { code, out } = await cli(argv, { until: '7 of 7 connected' })
    expect(code).toBe(0)
    expect(out).toMatch(
      /^7 devices, all connected after \d+\.\d s \([\d,]+ a second\)\nconnections: 7 made, 0 refused/,
    )
    expect(new Set(hub.requests.map(headers => headers['x-device-fingerprint'])).size).toBe(7)
  })

  it('stops after a duration in fractions of a second', async () => {
    await using hub = await FakeHub.start()
    const argv = ['simulate', '--hub', hub.url, '--token', TOKEN, '--count', '1', '--duration', '1.001']
    expect((await cli(argv)).out).toMatch(/^(1 devices, all connected|0 of 1 devices were connected)/)
  })

  it('fails when no device could connect', async () => {
    await using hub = await FakeHub.start()
    hub.refusals.push(
      ...Array.from({ length: 40 }, () => ({
        status: 401,
        body: '{"kind":"Forbidden","message":"unknown token"}',
      })),
    )
    const argv = ['simulate', '--hub', hub.url, '--token', TOKEN, '--count', '3', '--while-stdin-open']
    const { code, out, err } = await cli(argv, { until: ' refused; last: ' })
    expect(code).toBe(1)
    expect(out).toContain('0 of 3 devices were connected')
    expect(out).toContain('the token is not accepted')
    expect(err).toContain('no device could connect')
  })
})
