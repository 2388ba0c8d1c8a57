import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ActionError, newDatedId, newId } from '@muster/actions'
import {
  connectDevice,
  deviceRow,
  type FakeDevice,
  freePort,
  type Muster,
  muster,
  type Ran,
  type TestHub,
  testHub,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { runCli } from './cli.ts'
import { table } from './table.ts'

let hub: TestHub
let fleet: Awaited<ReturnType<TestHub['fleet']>>
let token: string
let device: FakeDevice
/** CLI with hub and user token in its environment. */
let cli: Muster
/** CLI without a user token. */
let signedOut: Muster

beforeAll(async () => {
  hub = await testHub()
  fleet = await hub.fleet()
  token = await hub.userToken(fleet.owner)
  device = await connectDevice({ url: hub.url, token: fleet.token })
  cli = await muster({ MUSTER_HUB: hub.url, MUSTER_TOKEN: token })
  signedOut = await muster()
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await signedOut[Symbol.asyncDispose]()
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

describe('usage', () => {
  it.each([
    [['nonsense'], 'unknown command'],
    [['devices', 'nonsense'], 'unknown command'],
    [['devices', 'info'], "missing required argument 'device'"],
    [['devices', 'properties', 'set', 'd', 'name', '{'], 'Expected JSON'],
    [['devices', 'label', 'd', 'site'], 'Expected KEY=VALUE'],
    [['devices', 'label', 'd', 'Site=a'], 'Expected KEY=VALUE'],
    [['devices', 'label', 'd', 'site=a', 'site-'], 'The label site is named twice'],
    [['devices', 'events', 'list', 'd', '--limit', '0'], 'Expected a whole number from 1 to 1000'],
    [['devices', 'certificates', 'set-status', 'c', 'fine'], 'Allowed choices are'],
    [['projects', 'devices', 'list', 'p', '--status', 'lost'], 'Allowed choices are'],
    [['repositories', 'set-visibility', 'r', 'shared'], 'Allowed choices are public, private'],
    [['versions', 'create', 'r/p', '--tag', 'stable,fixed'], 'Expected NAME[,locked][,reassign]'],
    [['versions', 'tag', 'r/p/t'], "required option '--tag <tag[,locked][,reassign]>' not specified"],
    [['versions', 'untag', 'r/p/t'], "required option '--tag <tag>' not specified"],
    [['packages', 'set-metadata', 'r/p', '[]'], 'Expected a JSON object'],
    [['packages', 'set-metadata', 'r/p', '1.0'], 'Expected a JSON object'],
    [['packages', 'info', 'only-one-part'], 'expected repository/package or an id'],
    [['forward', 'd', '80'], 'Expected LOCAL:REMOTE'],
    [['forward', 'd', '80:0'], 'Expected LOCAL:REMOTE'],
    [['assets', 'upload', 'r', 'file', '--parallel', '0'], 'Expected a whole number from 1 to 16'],
    [['projects', 'otlp', 'set', 'p'], 'Expected either the JSON or --file'],
    [['projects', 'otlp', 'set', 'p', '[]'], 'Expected a JSON object'],
    [['webhooks', 'create', 'o', 'n'], "required option '--url <url>' not specified"],
    [['webhooks', 'replay', 'w'], 'Expected either a message id or --failed-since'],
    [['webhooks', 'start', 'w', 'all'], 'Allowed choices are send, drop'],
    [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
    [['actions', 'no_Such'], 'unknown command'],
    [['actions', 'execute', 'no_Such'], 'There is no action "no_Such"'],
    [['actions', 'projects_Query', '[]'], 'expected one'],
    [['actions', 'projects_Query', '1.0'], 'expected one'],
    [['actions', 'projects_Query', '--limit', 'x'], '--limit is not JSON'],
  ])('refuses %j', async (argv, message) => {
    const { code, out, err } = await inProcess(argv)
    expect(err).toContain(message)
    expect(out).toBe('')
    expect(code).toBe(2)
  })

  it('exits with 0 after help and version', async () => {
    expect(await cli.run(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('forward') })
    expect(await cli.run(['--version'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
    const { code, out } = await cli.run(['actions', 'devices_SetName', '--help'])
    expect(code).toBe(0)
    expect(out).toContain('--device-id <text>')
  })

  it('accepts the options of the public command line', async () => {
    const argv = ['--log-level', 'off', '--log-format', 'full', 'whoami']
    expect(await cli.run(argv)).toMatchObject({ code: 0, err: '' })
  })

  it('does not fail when its reader closes the pipe early', async () => {
    const { out, err } = await inShell('actions list | head -1')
    expect(out).toMatch(/^Action +Kind/)
    expect(err).toBe('')
  })

  it('fails when its result cannot be written', async () => {
    expect(await inShell('actions list >/dev/full')).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^muster: Found ENOSPC writing the result, [^\n]+\n$/),
    })
  })

  it('keeps its exit code when only standard error cannot be written', async () => {
    expect(await inShell('actions list 2>/dev/full >/dev/null')).toMatchObject({ code: 0 })
    expect(await inShell('nonsense 2>/dev/full')).toMatchObject({ code: 2 })
  })

  it('prints all rows', () => {
    const rows = Array.from({ length: 200_000 }, (_, row) => ({ row }))
    expect(table(rows, [{ title: 'Row', of: ({ row }) => row }])).toContain('\n199999\n')
  })
})

/** Runs a command under a user id without an entry in /etc/passwd, as in containers. */
function asHomeless(...argv: string[]) {
  const main = join(import.meta.dirname, '../muster.js')
  const account = { uid: 54_321, gid: 54_321 }
  return spawnSync(process.execPath, [main, ...argv], { ...account, cwd: '/', env: {}, encoding: 'utf8' })
}

const hasHomeless = process.getuid?.() === 0 && asHomeless('--version').status === 0

describe('access', () => {
  it('is missing: exits with 2 without a hub and 3 without a token, with a line of advice', async () => {
    expect(await signedOut.run(['projects', 'list'])).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(/^muster: Found no address of a hub\. Run `muster login`[^\n]+\n$/),
    })
    expect(await signedOut.run(['projects', 'list', '--hub', hub.url])).toMatchObject({
      code: 3,
      err: expect.stringMatching(/^muster: You are not signed in\. Run `muster login`[^\n]+\n$/),
    })
  })

  it.runIf(hasHomeless)('is missing without a home folder as well', () => {
    expect(asHomeless('projects', 'list')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^muster: Found no address of a hub\. [^\n]+\n$/),
    })
  })

  it('is refused: exits with 3 for an unknown token and for records of others', async () => {
    const unknown = await signedOut.run(['projects', 'list', '--hub', hub.url, '--token', newId('u_sk')])
    expect(unknown).toMatchObject({ code: 3, err: expect.stringContaining('does not know this token') })
    const other = await hub.fleet()
    const foreign = await cli.run(['projects', 'info', other.projectId])
    expect(foreign).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(/^muster: [^\n]+Check the id[^\n]+\n$/),
    })
  })

  it('refuses a malformed token without sending or printing it', async () => {
    const { code, err } = await signedOut.run(['projects', 'list', '--hub', hub.url, '--token', 'hunter2'])
    expect(code).toBe(2)
    expect(err).toContain('Found a token of 7 characters')
    expect(err).not.toContain('hunter2')
  })

  it('refuses a token given as the address without sending or printing it', async () => {
    const { code, err } = await cli.run(['whoami', '--hub', token])
    expect(code).toBe(2)
    expect(err).toBe('muster: Found the hub address "u_sk_…", expected one like https://hub.example.com.\n')
    expect((await cli.run(['devices', token])).err).not.toContain(token)
  })

  it('fails with 1 and the reason when the hub is unreachable', async () => {
    const { code, err } = await cli.run(['projects', 'list', '--hub', `http://127.0.0.1:${await freePort()}`])
    expect(code).toBe(1)
    expect(err).toMatch(
      /^muster: http:\/\/127.0.0.1:\d+ could not be reached: connect ECONNREFUSED [^\n]+\n$/,
    )
  })

  it("is read from the caller's folder when npm starts the command elsewhere", async () => {
    const folder = join(signedOut.folder, 'here')
    await mkdir(folder)
    await writeFile(join(folder, '.muster-cli.toml'), `hub-url = "${hub.url}"\ntoken = "${token}"\n`)
    const env = { npm_lifecycle_event: 'cli', INIT_CWD: folder }
    expect(await signedOut.run(['whoami'], { env })).toMatchObject({ code: 0 })
  })

  it('is stored by login in a file that only its owner may read, and sent to no other hub', async () => {
    await using person = await muster()
    const signedIn = await person.run(['login', '--hub', hub.url], { input: `${token}\n` })
    expect(signedIn).toMatchObject({ code: 0, out: expect.stringContaining(`Signed in at ${hub.url}`) })
    expect(signedIn.out + signedIn.err).not.toContain(token)
    const file = join(person.folder, '.config/muster/cli.toml')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await person.json('whoami')).toMatchObject({ hubUrl: hub.url, userId: fleet.owner.userId })
    const elsewhere = await person.run(['whoami', '--hub', 'http://127.0.0.1:9'])
    expect(elsewhere).toMatchObject({ code: 3, err: expect.stringContaining('not signed in') })
  })

  it('is not stored when the hub does not know the token', async () => {
    await using person = await muster()
    const { code, err } = await person.run(['login', '--hub', hub.url], { input: `${newId('u_sk')}\n` })
    expect(code).toBe(3)
    expect(err).toContain('does not know this token')
    await expect(stat(join(person.folder, '.config'))).rejects.toThrow('ENOENT')
    expect(await person.run(['login', '--hub', hub.url])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Found no token on standard input'),
    })
  })

  it('is also read from the file of the public command line, and from a file named by an option', async () => {
    await using person = await muster()
    const config = `hub-url = "${hub.url}"\ntoken = "${token}"\n`
    await mkdir(join(person.folder, '.nexigon'))
    await writeFile(join(person.folder, '.nexigon/cli.toml'), config)
    expect(await person.json('whoami')).toMatchObject({ userId: fleet.owner.userId })
    await writeFile(join(person.folder, 'mine.toml'), 'hub-url = nonsense')
    expect(await person.run(['whoami', '--config', 'mine.toml'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/mine\.toml: line 1 is not valid TOML/),
    })
    expect(await person.run(['whoami', '--config', 'missing.toml'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('ENOENT'),
    })
  })
})

describe('projects and devices', () => {
  it('lists them as a table for people, and as JSON', async () => {
    const { code, out } = await inProcess(['projects', 'list'])
    expect(code).toBe(0)
    expect(out.split('\n')[0]).toMatch(/^Id +Name$/)
    expect(out).toContain(fleet.projectId)
    expect(await jsonInProcess('projects', 'list')).toEqual([
      expect.objectContaining({ projectId: fleet.projectId, name: 'Test project' }),
    ])
    expect(
      await jsonInProcess('projects', 'devices', 'list', fleet.projectId, '--status', 'connected'),
    ).toEqual([expect.objectContaining({ deviceId: device.deviceId })])
  })

  it('saves views, and lists the devices of one', async () => {
    const { organizationId } = fleet
    const projectId = await hub.project(fleet.owner, organizationId)
    for (const name of ['a-1', 'a-2', 'b-1']) await deviceRow(hub, projectId, { name })
    const where = 'device.name contains "a-"'
    const created = await inProcess([
      'projects',
      'views',
      'create',
      projectId,
      'Bay A',
      '--where',
      where,
      '--shared',
    ])
    expect(created).toMatchObject({ code: 0, out: expect.stringMatching(/^view_\w{22}\n$/) })
    const { out } = await inProcess(['projects', 'views', 'list', projectId])
    expect(out).toContain('everyone')
    expect(out).toContain(where)
    const listed = (...options: string[]) =>
      jsonInProcess<{ name: string }[]>('projects', 'devices', 'list', projectId, '--view', ...options)
    expect((await listed('Bay A')).map(({ name }) => name).sort()).toEqual(['a-1', 'a-2'])
    expect(await listed(created.out.trim(), '--where', 'device.name contains "2"')).toMatchObject([
      { name: 'a-2' },
    ])
    await inProcess(['projects', 'views', 'create', projectId, 'Bay A', '--where', where])
    const list = ['projects', 'devices', 'list', projectId, '--view']
    expect(await inProcess([...list, 'Bay A'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('Found 2 views "Bay A", expected the id of one: view_'),
    })
    expect(await inProcess([...list, 'Bay B'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('Found no view "Bay B", expected one of: Bay A'),
    })
    // The same commands stand beside `devices`. A view keeps columns and order too.
    const create = ['views', 'create', projectId, 'Bay B', '--where', where, '--sort', '-name', '--columns']
    expect(await inProcess([...create, 'deviceId,name,status,label.site'])).toMatchObject({ code: 0 })
    expect((await listed('Bay B')).map(({ name }) => name)).toEqual(['a-2', 'a-1'])
    expect((await inProcess(['devices', 'list', projectId, '--view', 'Bay B', '--csv'])).out).toContain(
      'deviceId,name,status,label.site\r\n',
    )
    expect(await inProcess([...create, 'hostname'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('A view has no column "hostname", expected name, deviceId, firstSeen, '),
    })
    for (const view of [created.out.trim(), 'Bay B'])
      expect(await inProcess(['views', 'delete', projectId, view])).toMatchObject({
        code: 0,
        out: 'Deleted.\n',
      })
  })

  it('shows chosen columns of a list, as table, JSON and CSV', async () => {
    const projectId = await hub.project(fleet.owner, fleet.organizationId)
    const deviceId = await deviceRow(hub, projectId, { name: '=1+1' })
    await fleet.owner.invoke('devices_SetLabels', { deviceId, set: { site: 'pier4' }, remove: [] })
    const value = { floor: 4, '7': 'x' }
    await fleet.owner.invoke('devices_SetProperty', { deviceId, name: 'place', value })
    await fleet.owner.invoke('devices_SetProperty', { deviceId, name: 'version', value: '7' })
    const list = ['devices', 'list', projectId, '--columns', 'name, label.site,place.7,connected,=version']
    expect((await inProcess(list)).out).toBe(
      'name  label.site  place.7  connected  =version\n=1+1  pier4       x        false      7\n',
    )
    expect(await jsonInProcess(...list)).toEqual([
      { name: '=1+1', 'label.site': 'pier4', 'place.7': 'x', connected: false, '=version': '7' },
    ])
    expect((await inProcess([...list, '--csv'])).out).toBe(
      "\uFEFFname,label.site,place.7,connected,'=version\r\n'=1+1,pier4,x,false,7\r\n",
    )
    await inProcess(['projects', 'views', 'create', projectId, 'All', '--where', 'exists label.site'])
    expect(await jsonInProcess('devices', 'list', projectId, '--view', 'All')).toMatchObject([{ deviceId }])
    for (const [columns, message] of [
      ['name,name', 'The column name is named twice'],
      ['label.Site', 'Found the column "label.Site"'],
      ['a,b,c,d,e,f,g,h,i', 'Found 9 columns of properties and labels, expected at most 8'],
    ] as const)
      expect(await inProcess(['devices', 'list', projectId, '--columns', columns])).toMatchObject({
        code: 2,
        err: expect.stringContaining(message),
      })
  })

  it('exports a list in each format, and continues an export that was interrupted', async () => {
    const projectId = await hub.project(fleet.owner, fleet.organizationId)
    const names = Array.from({ length: 1100 }, (_, n) => `crane-${String(n).padStart(4, '0')}`)
    await hub.db
      .insertInto('device')
      .values(
        names.map(name => ({
          device_id: newId('d'),
          project_id: projectId,
          fingerprint_id: name,
          fingerprint_hash: Buffer.from(name),
          name,
        })),
      )
      .execute()
    const where = ['--where', 'device.name contains "crane"', '--sort', 'name', '--columns', 'name,status']
    const exported = (...options: string[]) =>
      inProcess(['devices', 'export', projectId, ...where, ...options])
    const whole = await exported()
    expect(whole).toMatchObject({ code: 0, err: '1100 devices\n' })
    const lines = whole.out.split('\r\n')
    expect(lines[0]).toBe('\uFEFFname,status')
    expect(lines.slice(1, -1)).toEqual(names.map(name => `${name},offline`))
    const rows = names.map(name => ({ name, status: 'offline' }))
    expect(JSON.parse((await exported('--json')).out)).toEqual(rows)
    const { out } = await exported('--jsonl')
    expect(
      out
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as unknown),
    ).toEqual(rows)
    expect(await exported('--csv', '--jsonl')).toMatchObject({ code: 2, out: '' })
    expect(await exported('--csv', '--json')).toMatchObject({ code: 2, out: '' })
    const empty = await inProcess(['devices', 'export', projectId, '--text', 'nothing', '--json'])
    expect(empty).toMatchObject({ code: 0, out: '[\n]\n', err: '0 devices\n' })

    // The token ends after two pages, as a session or a right may.
    const file = join(cli.folder, 'devices.csv')
    let pages = 0
    const invoke = hub.pipeline.invoke.bind(hub.pipeline)
    const cutting = vi.spyOn(hub.pipeline, 'invoke').mockImplementation(async (...call) => {
      if (call[1] === 'projects_QueryDevices' && ++pages > 2)
        throw new ActionError('Forbidden', 'You may not see this project.', { status: 403 })
      return invoke(...call)
    })
    onTestFinished(() => cutting.mockRestore())
    const cut = await exported('--output', file)
    expect(cut).toMatchObject({ code: 3, out: '' })
    expect(cut.err).toContain(`1000 devices are in ${file}.part. Run the same command again to continue.`)
    cutting.mockRestore()
    await appendFile(`${file}.part`, 'half a line')
    expect(await exported('--output', file)).toMatchObject({ code: 0, err: `1100 devices in ${file}\n` })
    expect(await readFile(file, 'utf8')).toBe(whole.out)
    expect((await readdir(cli.folder)).filter(name => name.startsWith('devices.csv'))).toEqual([
      'devices.csv',
    ])
  })

  it('reads all pages of a list, or up to a limit', async () => {
    const { organizationId, projectId } = await hub.fleet()
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: fleet.owner.userId })
      .execute()
    await hub.db
      .insertInto('device')
      .values(
        Array.from({ length: 1234 }, (_, n) => ({
          device_id: newId('d'),
          project_id: projectId,
          fingerprint_id: `many ${n}`,
          fingerprint_hash: Buffer.from(`many ${n}`),
        })),
      )
      .execute()
    expect(await jsonInProcess<unknown[]>('projects', 'devices', 'list', projectId)).toHaveLength(1234)
    expect(
      await jsonInProcess<unknown[]>('projects', 'devices', 'list', projectId, '--limit', '501'),
    ).toHaveLength(501)
  })

  it('shows and renames, and escapes names that could control the terminal', async () => {
    expect(await jsonInProcess('devices', 'info', device.deviceId)).toMatchObject({
      deviceId: device.deviceId,
    })
    expect(await inProcess(['devices', 'rename', device.deviceId, 'Pump 1'])).toMatchObject({
      code: 0,
      out: 'Renamed.\n',
    })
    expect(await jsonInProcess('devices', 'info', device.deviceId)).toMatchObject({ name: 'Pump 1' })
    const label = (...changes: string[]) => inProcess(['devices', 'label', device.deviceId, ...changes])
    expect(await label()).toMatchObject({ code: 0, out: 'No labels.\n' })
    expect(await label('site=pier4', 'note=a=b', 'ring-')).toMatchObject({
      code: 0,
      out: 'note=a=b\nsite=pier4\n',
    })
    expect(await label('note-')).toMatchObject({ code: 0, out: 'site=pier4\n' })
    expect(await jsonInProcess('devices', 'label', device.deviceId)).toEqual({ labels: { site: 'pier4' } })
    await device.invoke('devices_SetProperty', {
      deviceId: device.deviceId,
      name: 'a.b',
      value: '\u001b[31mred',
    })
    const { out } = await inProcess(['devices', 'properties', 'list', device.deviceId])
    expect(out).toContain('a.b')
    expect(out).not.toContain('\u001b')
  })

  it('sets, reads and removes properties, and checks the expected version', async () => {
    const { deviceId } = device
    expect(await inProcess(['devices', 'properties', 'set', deviceId, 'colour', '{"r": 1}'])).toMatchObject({
      code: 0,
    })
    const found = await inProcess(['devices', 'properties', 'get', deviceId, 'colour'])
    expect(JSON.parse(found.out)).toEqual({ r: 1 })
    const stale = ['devices', 'properties', 'set', deviceId, 'colour', '2', '--expected-version', '99']
    expect(await inProcess(stale)).toMatchObject({ code: 1, err: expect.stringContaining('expected 99') })
    expect(
      await jsonInProcess<unknown[]>('devices', 'properties', 'history', deviceId, 'colour'),
    ).toHaveLength(1)
    expect(await inProcess(['devices', 'properties', 'remove', deviceId, 'colour'])).toMatchObject({
      out: 'Removed.\n',
    })
    expect(await inProcess(['devices', 'properties', 'get', deviceId, 'colour'])).toMatchObject({
      code: 1,
      err: 'muster: The device has no property "colour".\n',
    })
  })

  it('passes JSON unchanged in both directions', async () => {
    const { deviceId } = device
    const value = '{"large":12345678901234567890,"one":1.0,"none":null,"small":-0,"huge":[1e400]}'
    const stored = async (name: string) => {
      const response = await fetch(`${hub.url}/api/v1/actions/invoke/devices_GetProperty`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ deviceId, name }),
      })
      return response.text()
    }
    expect((await inProcess(['devices', 'properties', 'set', deviceId, 'c.d', value])).code).toBe(0)
    expect(await stored('c.d')).toContain(`"value":${value}`)
    const input = `{"deviceId":"${deviceId}","name":"c.e","value":${value}}`
    expect((await cli.run(['actions', 'devices_SetProperty', '-'], { input })).code).toBe(0)
    expect(await stored('c.e')).toContain(`"value":${value}`)
    const withoutBlanks = (text: string) => text.replace(/\s/g, '')
    const { out } = await inProcess(['devices', 'properties', 'get', deviceId, 'c.d'])
    expect(withoutBlanks(out)).toBe(value)
    const json = await inProcess(['devices', 'properties', 'list', deviceId, '--json'])
    expect(withoutBlanks(json.out)).toContain(`"value":${value}`)
    expect((await inProcess(['devices', 'properties', 'list', deviceId])).out).toContain(value)
    const large = '12345678901234567890'
    expect((await inProcess(['devices', 'properties', 'set', deviceId, 'c.d', large])).code).toBe(0)
    expect((await inProcess(['devices', 'properties', 'get', deviceId, 'c.d'])).out).toBe(`${large}\n`)
  })

  it('reads long text from standard input unchanged', async () => {
    const { deviceId } = device
    // `é` has two bytes in UTF-8. The additional `x` shifts all later bytes by one, so in one of the two values some chunks of the pipe end
    // inside a character.
    for (const value of ['é'.repeat(100_000), `x${'é'.repeat(100_000)}`]) {
      const input = JSON.stringify({ deviceId, name: 'long', value })
      expect((await cli.run(['actions', 'devices_SetProperty', '-'], { input })).code).toBe(0)
      const { out } = await inProcess(['devices', 'properties', 'get', deviceId, 'long'])
      expect(JSON.parse(out) === value).toBe(true)
    }
  })

  it('escapes values printed as JSON that could control the terminal', async () => {
    const { deviceId } = device
    const value = '\u009b31m\u202e\u007f'
    await device.invoke('devices_SetProperty', { deviceId, name: 'steer', value })
    const { out } = await inProcess(['devices', 'properties', 'get', deviceId, 'steer'])
    expect(out).toBe('"\\u009b31m\\u202e\\u007f"\n')
    const listed = await inProcess(['devices', 'properties', 'list', deviceId, '--json'])
    expect(listed.out).not.toContain('\u009b')
    expect(JSON.parse(listed.out)).toContainEqual(expect.objectContaining({ value }))
  })

  it('lists events, connections and tokens', async () => {
    const { deviceId } = device
    const eventId = newDatedId('d_ev', new Date())
    const event = {
      eventId,
      severity: 'Warning',
      category: 'ota',
      body: 'hot',
      attributes: {},
      emittedAt: new Date().toISOString(),
    }
    await device.invoke('devices_PublishEvents', { deviceId, events: [event] })
    expect(await jsonInProcess('devices', 'events', 'list', deviceId)).toEqual([
      expect.objectContaining({ body: 'hot' }),
    ])
    expect(await jsonInProcess<unknown[]>('devices', 'connections', 'list', deviceId)).toHaveLength(1)
    const made = await jsonInProcess<{ tokenId: string; token: string }>(
      'projects',
      'tokens',
      'create',
      fleet.projectId,
      'line 2',
      '--auto-accept',
      'true',
    )
    expect(made.token).toMatch(/^deployment_/)
    expect(await inProcess(['projects', 'tokens', 'list', fleet.projectId])).toMatchObject({
      out: expect.stringMatching(/line 2.*yes/),
    })
    expect(await inProcess(['projects', 'tokens', 'delete', made.tokenId])).toMatchObject({
      code: 0,
      out: 'Deleted.\n',
    })
  })

  it('O21: deletes a repository with packages only when told so', async () => {
    const { owner, organizationId } = fleet
    const full = await hub.repository(owner, organizationId)
    await hub.package(owner, full, 'gateway')
    expect(await inProcess(['repositories', 'delete', full])).toEqual({
      code: 1,
      out: '',
      err: expect.stringContaining(
        'Nothing was deleted: the repository has packages, such as gateway. Add --with-packages to delete it with everything in it.',
      ),
    })
    const deleted = { code: 0, out: 'Deleted.\n' }
    expect(await inProcess(['repositories', 'delete', full, '--with-packages'])).toMatchObject(deleted)
    const empty = await hub.repository(owner, organizationId)
    expect(await inProcess(['repositories', 'delete', empty])).toMatchObject(deleted)
  })

  it('I4: creates tokens that accept automatically, by default', async () => {
    const create = (...args: string[]) =>
      jsonInProcess<{ tokenId: string }>('projects', 'tokens', 'create', fleet.projectId, 'line 3', ...args)
    const accepting = await create()
    const holding = await create('--auto-accept', 'false')
    const tokens = await jsonInProcess<{ tokenId: string; flags: object }[]>(
      'projects',
      'tokens',
      'list',
      fleet.projectId,
    )
    const flagsOf = ({ tokenId }: { tokenId: string }) => tokens.find(one => one.tokenId === tokenId)?.flags
    expect(flagsOf(accepting)).toEqual({ autoAccept: true })
    expect(flagsOf(holding)).toEqual({ autoAccept: false })
  })

  it('lists the requested number of events, even if they are large', async () => {
    const { deviceId } = device
    const body = 'x'.repeat(60_000)
    const at = new Date()
    const events = Array.from({ length: 110 }, () => ({
      eventId: newDatedId('d_ev', at),
      severity: 'Info',
      body,
      attributes: {},
      emittedAt: at.toISOString(),
    }))
    await device.invoke('devices_PublishEvents', { deviceId, events })
    expect(await cli.json<unknown[]>('devices', 'events', 'list', deviceId, '--limit', '109')).toHaveLength(
      109,
    )
  })

  it('prints a link to the web page of a device', async () => {
    const command = ['http-proxy', 'issue-url', device.deviceId, '--port', '8080']
    for (const options of [[], ['--https']]) {
      const { code, out } = await inProcess([...command, ...options])
      expect(code).toBe(0)
      const url = new URL(out.trim())
      expect(url.hostname).toContain('.localhost')
      const [, claims] = url.searchParams.get('muster_token')!.split('.')
      const { https } = JSON.parse(Buffer.from(claims!, 'base64url').toString())
      expect(https).toBe(options.length > 0 ? true : undefined)
    }
  })
})

describe('every action', () => {
  it('is a command with an option for each field, JSON, or both', async () => {
    const { projectId } = fleet
    const found = await jsonInProcess<{ name: string }>(
      'actions',
      'projects_GetDetails',
      '--project-id',
      projectId,
    )
    expect(found.name).toBe('Test project')
    const listed = await jsonInProcess<{ devices: unknown[] }>(
      'actions',
      'projects_QueryDevices',
      JSON.stringify({ projectId, limit: 5 }),
      '--limit',
      '1',
    )
    expect(listed.devices).toHaveLength(1)
    const { out } = await cli.run(['actions', 'execute', 'projects_GetDetails', '-'], {
      input: JSON.stringify({ projectId }),
    })
    expect(JSON.parse(out)).toMatchObject({ projectId })
  })

  it('names the invalid field in its error', async () => {
    const { code, err } = await inProcess(['actions', 'projects_GetDetails'])
    expect(code).toBe(1)
    expect(err).toMatch(/^muster: The input is not valid: [^\n]*projectId[^\n]*\n$/)
  })
})

describe('completion', () => {
  const complete = async (...words: string[]) =>
    (await inProcess(['complete', '--', ...words])).out.split('\n').slice(0, -1)

  it('knows commands, options, choices and actions', async () => {
    expect(await complete('repo')).toEqual(['repositories'])
    expect(await complete('devices', 'properties', '')).toEqual([
      'list',
      'get',
      'set',
      'remove',
      'history',
      'help',
    ])
    expect(await complete('--hub', 'x', 'assets', 'upload', 'r', '--pa')).toEqual(['--parallel'])
    expect(await complete('projects', 'devices', 'list', 'p', '--status', 'c')).toEqual(['connected'])
    expect(await complete('devices', 'certificates', 'set-status', 'c', '')).toEqual([
      'pending',
      'active',
      'rejected',
      'revoked',
    ])
    expect(await complete('actions', 'devices_SetN')).toEqual(['devices_SetName'])
    expect(await complete('actions', 'devices_SetName', '--d')).toEqual(['--device-id'])
    expect(await complete('assets', 'upload', 'r', '')).toEqual([])
  })

  it('works in bash', async () => {
    const { out: script } = await cli.run(['completion', 'bash'])
    const ask = `muster() { "${process.execPath}" "${join(import.meta.dirname, 'main.ts')}" "$@"; }
${script}
COMP_WORDS=(muster devices prop); COMP_CWORD=2; _muster; echo "\${COMPREPLY[@]}"
COMP_WORDS=(muster completion ''); COMP_CWORD=2; _muster; echo "\${COMPREPLY[@]}"`
    await writeFile(join(cli.folder, 'ask.sh'), ask)
    const child = spawn('bash', ['ask.sh'], { cwd: cli.folder })
    expect(await text(child.stdout)).toBe('properties\nbash zsh fish\n')
  })
})

/** Runs a command in the test process, which is faster than a child process. Its standard input is empty. */
async function inProcess(argv: readonly string[]): Promise<Ran> {
  let [out, err] = ['', '']
  const write = (text: string): void => {
    err += text
  }
  const code = await runCli(argv, {
    out: text => {
      out += text
    },
    err: write,
    ask: write,
    input: () => Readable.from([]),
    isTerminal: false,
    environment: { HOME: cli.folder, MUSTER_HUB: hub.url, MUSTER_TOKEN: token },
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

/** Runs a command with `--json` in this process and parses its output. Throws if the command fails. */
async function jsonInProcess<T>(...argv: string[]): Promise<T> {
  const { code, out, err } = await inProcess([...argv, '--json'])
  if (code !== 0) throw new Error(`muster ${argv.join(' ')} exited with ${code}: ${err}`)
  return JSON.parse(out)
}

/** Runs `muster` in a shell. `line` contains its arguments, and may contain pipes and redirections. */
async function inShell(line: string): Promise<Ran> {
  const child = spawn('sh', ['-c', `"${process.execPath}" muster.js ${line}`], {
    cwd: join(import.meta.dirname, '..'),
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, out, err }
}
