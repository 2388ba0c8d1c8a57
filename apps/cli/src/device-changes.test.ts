import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { newId } from '@muster/actions'
import { deviceRow, type Ran, type TestHub, type TestUser, testHub } from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from './cli.ts'

let hub: TestHub
let owner: TestUser
let token: string
let folder: string
let projectId: string
let one: string
let two: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  token = await hub.userToken(owner)
  folder = await mkdtemp(join(tmpdir(), 'muster-changes-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await hub[Symbol.asyncDispose]()
})
beforeEach(async () => {
  projectId = await hub.project(owner, await hub.organization(owner))
  one = await deviceRow(hub, projectId, { hostname: 'gw-1', firstSeen: new Date() })
  two = await deviceRow(hub, projectId, { hostname: 'gw-2', firstSeen: new Date(Date.now() - 60_000) })
})

/** Runs a command with a standard input that is a terminal if it is typed. */
async function run(argv: readonly string[], typed?: string): Promise<Ran> {
  let [out, err] = ['', '']
  const write = (text: string): void => {
    err += text
  }
  const input = Readable.from(typed === undefined ? [] : [typed])
  const code = await runCli(argv, {
    out: text => {
      out += text
    },
    err: write,
    ask: write,
    input: () => Object.assign(input, { isTTY: typed !== undefined }),
    isTerminal: false,
    environment: { HOME: folder, MUSTER_HUB: hub.url, MUSTER_TOKEN: token },
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

const devices = (...argv: string[]) => run(['devices', ...argv])
const inProject = () => ['--project', projectId]
const everywhere = () => [...inProject(), '--where', 'exists device.hostname']

async function detailsOf(deviceId: string) {
  const { name, labels } = await owner.invoke('devices_GetDetails', { deviceId })
  return { name, labels: labels ?? {} }
}

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

describe('usage', () => {
  it.each([
    [['label'], "missing required argument 'device'"],
    [['label', '--project', 'p', '--where', 'device.connected'], 'Expected KEY=VALUE or KEY-'],
    [['label', '--project', 'p', 'site=a'], 'Expected --where or --view'],
    [['label', '--project', 'p', '--where', 'device.connected', 'Site=a'], 'Expected KEY=VALUE'],
    [['label', 'd', 'site=a', '--where', 'device.connected'], 'Expected --project'],
    [['label', '--project', 'p', '--where', 'device.conected', 'a=b'], "option '--where"],
    [['rename'], "missing required argument 'device'"],
    [['rename', '--project', 'p', '--where', 'device.connected'], 'Expected --pattern'],
    [['rename', 'd', '--pattern', 'x'], 'Expected --project'],
    [['rename', '--project', 'p', '--pattern', 'a-{lable:x}'], 'column 3: found {lable:x}'],
    [['import', '--project', 'p', '--by', 'id'], "missing required argument 'file'"],
    [['import', 'f', '--project', 'p'], "required option '--by <key>'"],
    [['import', 'f', '--project', 'p', '--by', 'serial'], 'Expected id, hostname'],
    [['undo', 'bulk'], "required option '--project"],
  ])('refuses %j', async (argv, message) => {
    const { code, out, err } = await devices(...argv)
    expect(err).toContain(message)
    expect([code, out]).toEqual([2, ''])
  })
})

describe('labels of many devices', () => {
  it('are shown, and changed after a question or with --yes, and undone', async () => {
    await owner.invoke('devices_SetLabels', { deviceId: two, set: { ring: 'old' } })
    const label = ['label', ...everywhere(), 'site=pier4', 'ring-']
    const refused = await devices(...label)
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('Will change 2 devices.\n  gw-1: site - → pier4\n')
    expect(refused.err).toContain('gw-2: site - → pier4, ring old → removed')
    expect(refused.err).toContain('Nothing was changed. Add --yes to change 2 devices.')
    expect(await detailsOf(one)).toMatchObject({ labels: {} })
    expect(await run(['devices', ...label], 'n\n')).toMatchObject({ code: 1, out: '' })
    const asked = await run(['devices', ...label], 'y\n')
    expect(asked).toMatchObject({ code: 0, out: 'Changed 2 devices.\n' })
    expect(asked.err).toContain('Change 2 devices? [y/N] ')
    expect(await detailsOf(two)).toMatchObject({ labels: { site: 'pier4' } })
    const [, undo] = /: muster (devices undo .*)\n/.exec(asked.err)!
    expect(await run(undo!.split(' '))).toMatchObject({ code: 0, out: 'Changed 2 devices.\n' })
    expect(await detailsOf(two)).toMatchObject({ labels: { ring: 'old' } })
    const again = await run(undo!.split(' '))
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('undone already') })
  })

  it('take a saved view, and the devices of a view for which a predicate holds', async () => {
    await owner.invoke('devices_SetLabels', { deviceId: two, set: { site: 'pier4' } })
    await run(['projects', 'views', 'create', projectId, 'Pier 4', '--where', 'label.site = "pier4"'])
    const view = [...inProject(), '--view', 'Pier 4', '--yes']
    expect(await devices('label', ...view, 'ring=a')).toMatchObject({ code: 0, out: 'Changed 1 device.\n' })
    const none = await devices('label', ...view, '--where', 'device.hostname = "gw-1"', 'ring=b')
    expect(none).toMatchObject({ code: 0, out: 'Nothing to do.\n' })
    expect(await detailsOf(two)).toMatchObject({ labels: { site: 'pier4', ring: 'a' } })
    expect(await detailsOf(one)).toMatchObject({ labels: {} })
  })

  it('are previewed as JSON, and say what is left as it is', async () => {
    await owner.invoke('devices_SetLabels', { deviceId: two, set: { site: 'pier4' } })
    const { code, out, err } = await devices('label', ...everywhere(), 'site=pier4', '--dry-run', '--json')
    expect(code).toBe(0)
    expect(err).toContain('Not changed, nothing to do: 1 device.')
    expect(JSON.parse(out)).toMatchObject({ changeCount: 1, excluded: [{ reason: 'AlreadySet' }] })
    expect(await detailsOf(one)).toMatchObject({ labels: {} })
  })

  it('of 300 devices are set by a job with progress, and reported', async () => {
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_' || translate(left(md5($1 || i), 22), '0', 'z'), $1, 'd_pk_' || md5($1 || i), decode(md5($1 || i), 'hex')
         from generate_series(1, 300) i`,
      [projectId],
    )
    const report = join(folder, 'report.csv')
    const all = [...inProject(), '--where', 'not exists label.site', '--yes', '--report', report]
    const { code, out, err } = await devices('label', ...all, 'site=pier4')
    expect([code, out]).toEqual([0, 'Changed 302 devices.\n'])
    expect(err).toContain('Changing: 302 devices\n')
    const lines = (await readFile(report, 'utf8')).trimEnd().split('\r\n')
    expect(lines[0]).toBe(
      '\uFEFFrow,deviceId,name,hostname,outcome,reason,name before,name after,site before,site after',
    )
    expect(lines).toHaveLength(303)
    expect(lines.slice(1).every(line => line.endsWith(',Succeeded,,,,,pier4'))).toBe(true)
  })
})

describe('names of many devices', () => {
  it('are given by a pattern', async () => {
    await owner.invoke('devices_SetLabels', { deviceId: one, set: { site: 'pier4' } })
    const rename = ['rename', ...everywhere(), '--pattern', '{label:site}-{hostname}-{index:2}', '--yes']
    const { code, out, err } = await devices(...rename, '--first-index', '7')
    expect([code, out]).toEqual([0, 'Changed 1 device. Not changed: they lack a value of the pattern: 1.\n'])
    expect(err).toContain('gw-1: name - → pier4-gw-1-07')
    expect((await detailsOf(one)).name).toBe('pier4-gw-1-07')
    expect((await detailsOf(two)).name).toBeUndefined()
  })

  it('of one device are still given by its id', async () => {
    expect(await devices('rename', one, 'Pump 1')).toMatchObject({ code: 0, out: 'Renamed.\n' })
    expect((await detailsOf(one)).name).toBe('Pump 1')
    expect(await devices('rename', one)).toMatchObject({ code: 0 })
    expect((await detailsOf(one)).name).toBeUndefined()
  })
})

describe('a CSV file', () => {
  it('names and labels devices, and says which rows changed nothing', async () => {
    const unknown = newId('d')
    const path = await file(
      'latin.csv',
      Buffer.from(
        `\n"Device id";name;label.site;Serial\r\n${one};Stra\xdfe 1;"pier;4";7\r\n${two};;pier4;8\r\n${one};x;y;7\r\n${unknown};x;y;9\r\n`,
        'latin1',
      ),
    )
    const report = join(folder, 'import.csv')
    const args = ['import', path, ...inProject(), '--by', 'id', '--report', report]
    const { code, out, err } = await devices(...args, '--yes')
    expect(err).toContain('it is read as Windows-1252.')
    expect(err).toContain('Columns that change nothing: Serial.')
    expect(err).toContain('Read 4 rows with name, label.site by Device id.')
    expect(err).toContain(`Device named twice: 1 row.\n  line 5: ${one}: Row 3 names this device too.`)
    expect(err).toContain(`No device found: 1 row.\n  line 6: ${unknown}\n`)
    expect(err).toContain('muster: Not changed: 2 rows of the file.')
    expect([code, out]).toEqual([1, 'Changed 2 devices.\n'])
    expect(await detailsOf(one)).toEqual({ name: 'Straße 1', labels: { site: 'pier;4' } })
    expect(await detailsOf(two)).toEqual({ name: undefined, labels: { site: 'pier4' } })
    const lines = (await readFile(report, 'utf8')).trimEnd().split('\r\n')
    expect(lines.slice(1)).toEqual([
      `3,${one},Straße 1,gw-1,Succeeded,,,Straße 1,,pier;4`,
      `4,${two},,gw-2,Succeeded,,,,,pier4`,
      `5,${one},,,Refused,Doubled: Row 3 names this device too.,,,,`,
      `6,${unknown},,,Refused,NotFound,,,,`,
    ])
  })

  it('finds devices by a property or a chosen column, and removes by empty cells only if told', async () => {
    await owner.invoke('devices_SetProperty', { deviceId: one, name: 'app.unit', value: { serial: 'S-1' } })
    await owner.invoke('devices_SetLabels', { deviceId: one, set: { site: 'a' } })
    const path = await file('serials.csv', 'unit,serial,label.site\nx,S-1,\n')
    const args = [
      'import',
      path,
      ...inProject(),
      '--by',
      'property:app.unit.serial',
      '--key',
      'serial',
      '--yes',
    ]
    expect(await devices(...args)).toMatchObject({ code: 0, out: 'Nothing to do.\n' })
    expect(await devices(...args, '--empty-removes')).toMatchObject({ code: 0, out: 'Changed 1 device.\n' })
    expect((await detailsOf(one)).labels).toEqual({})
  })

  it.each([
    ['absent.csv', undefined, 'could not be read'],
    ['empty.csv', '', 'Found an empty file'],
    ['picture.csv', Buffer.from([0x89, 0, 1, 2]), 'no text'],
    ['wide.csv', 'id,name\na,b,c', 'Line 2: found 3 cells, expected 2'],
    ['headers.csv', 'id,serial\na,b', 'expected name or label.KEY'],
  ])('is refused: %s', async (name, content, message) => {
    const path = content === undefined ? join(folder, name) : await file(name, content)
    const { code, out, err } = await devices('import', path, ...inProject(), '--by', 'id', '--yes')
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(message)
  })

  it('of another project is refused with exit code 3', async () => {
    const stranger = await hub.user()
    const foreign = await hub.project(stranger, await hub.organization(stranger))
    const path = await file('foreign.csv', `id,name\n${one},x\n`)
    const refused = await devices('import', path, '--project', foreign, '--by', 'id', '--yes')
    expect(refused).toMatchObject({ code: 3, out: '' })
  })
})
