import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { machineFingerprint } from './machine-fingerprint.ts'
import { machineFingerprint as formerFingerprint } from './testing/former/machine-fingerprint.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

const MACHINE_ID = 'b08dfa6083e7567a1921a715000001fb'
const ON_DISK = '/dev/sda1 / ext4 rw 0 0\n'
/** A read-only root, on which systemd has mounted a machine id from memory. */
const IN_MEMORY = '/dev/root / squashfs ro 0 0\ntmpfs /etc/machine-id tmpfs ro 0 0\n'

const NET = 'sys/class/net/eth0'
const MAC = { [`${NET}/device/id`]: '', [`${NET}/type`]: '1', [`${NET}/addr_assign_type`]: '0' }
/** Files of each source, with a value that identifies a machine. */
const SOURCES = {
  'device-tree-serial': { 'sys/firmware/devicetree/base/serial-number': '10000000a1b2c3d4\0' },
  'emmc-cid': {
    'sys/bus/mmc/devices/mmc0:aaaa/type': 'SD\n',
    'sys/bus/mmc/devices/mmc0:aaaa/cid': '03534453433332478012345678012a00\n',
    'sys/bus/mmc/devices/mmc1:0001/type': 'MMC\n',
    'sys/bus/mmc/devices/mmc1:0001/cid': '150100424a4e4234520733d7d8c5a6b1\n',
  },
  mac: { ...MAC, [`${NET}/address`]: '52:54:00:12:34:56\n' },
  'dmi-uuid': { 'sys/class/dmi/id/product_uuid': 'A1B2C3D4-0000-1111-2222-333344445555\n' },
  'machine-id': { 'etc/machine-id': `${MACHINE_ID}\n`, 'proc/self/mounts': ON_DISK },
} as const

type Files = Record<string, string>

/** A folder with the files of a machine, and data folders of agents on it. */
async function machine(...files: Files[]) {
  const folder = await temporaryFolder()
  const root = join(folder.path, 'root')
  const here = {
    ...folder,
    root,
    data: join(folder.path, 'data'),
    async write(more: Files) {
      for (const [path, text] of Object.entries(more)) {
        await mkdir(dirname(join(root, path)), { recursive: true })
        await writeFile(join(root, path), text)
      }
    },
    /** Replaces all files of the machine. */
    async become(...others: Files[]) {
      await rm(root, { recursive: true, force: true })
      await here.write(Object.assign({}, ...others))
    },
    fingerprint: () => machineFingerprint(here.data, root),
    former: () => formerFingerprint(here.data, join(root, 'etc/machine-id')),
    identity: async () => JSON.parse(await readFile(join(here.data, 'identity.json'), 'utf8')),
    script: () => runScript(folder.path, root, EXAMPLE),
    formerScript: () => runScript(folder.path, root, FORMER),
    source: () => readFile(join(folder.path, 'state/source'), 'utf8'),
  }
  await here.write(Object.assign({}, ...files))
  return here
}

const EXAMPLE = join(import.meta.dirname, '../examples/fingerprint')
const FORMER = join(import.meta.dirname, 'testing/former/fingerprint')

/** Runs a fingerprint script with the files of a machine. The script has absolute paths, which a copy of it leads there. */
async function runScript(folder: string, root: string, script: string, ...args: string[]): Promise<string> {
  const text = (await readFile(script, 'utf8'))
    .replaceAll('/var/lib/muster-agent', join(folder, 'state'))
    .replaceAll(/\/sys\/(?=firmware|bus|class)/g, `${root}/sys/`)
    .replaceAll('/proc/self/mounts', `${root}/proc/self/mounts`)
    .replaceAll(/(cat|-s) \/etc\/machine-id/g, `$1 ${root}/etc/machine-id`)
  const copy = join(folder, 'fingerprint')
  await writeFile(copy, text)
  await chmod(copy, 0o700)
  return (await promisify(execFile)(copy, args)).stdout
}

describe('the fingerprint without a script', () => {
  it('is the same at every start', async () => {
    await using here = await machine(SOURCES['machine-id'])
    const first = await here.fingerprint()
    expect(first).toMatch(/^d_sk_/)
    expect(await here.fingerprint()).toBe(first)
  })

  it('is the same for processes that start at once', async () => {
    await using here = await machine(SOURCES['machine-id'])
    const all = await Promise.all(Array.from({ length: 8 }, () => here.fingerprint()))
    expect(new Set(all).size).toBe(1)
  })

  it('differs between data folders of one machine', async () => {
    await using here = await machine(SOURCES['machine-id'])
    expect(await machineFingerprint(`${here.data}1`, here.root)).not.toBe(
      await machineFingerprint(`${here.data}2`, here.root),
    )
  })

  it('differs for a copied data folder on another machine', async () => {
    await using here = await machine(SOURCES['machine-id'])
    const original = await here.fingerprint()
    await here.write({ 'etc/machine-id': `${MACHINE_ID.replace('b', 'c')}\n` })
    expect(await here.fingerprint()).not.toBe(original)
  })

  it('works without a machine id and stays the same when one appears', async () => {
    await using here = await machine({ 'etc/machine-id': 'uninitialized\n', 'proc/self/mounts': ON_DISK })
    const first = await here.fingerprint()
    await here.write({ 'etc/machine-id': `${MACHINE_ID}\n` })
    expect(await here.fingerprint()).toBe(first)
  })

  it('fails instead of becoming another device when the machine id is gone', async () => {
    await using here = await machine(SOURCES['machine-id'])
    await here.fingerprint()
    await here.write({ 'etc/machine-id': '' })
    await expect(here.fingerprint()).rejects.toThrow('found no machine id')
  })

  it('makes its file private and refuses a damaged one', async () => {
    await using here = await machine(SOURCES['machine-id'])
    await here.fingerprint()
    const file = join(here.data, 'identity.json')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).not.toContain(MACHINE_ID)
    const salt = '0'.repeat(64)
    for (const damaged of [
      '{"salt":"',
      JSON.stringify({ salt, source: 'mac' }),
      JSON.stringify({ salt, source: 'disk', value: 'x' }),
    ]) {
      await writeFile(file, damaged)
      await expect(here.fingerprint()).rejects.toThrow('identity.json: found invalid content')
    }
  })
})

describe('D2: the source of a fingerprint', () => {
  const names = Object.keys(SOURCES) as (keyof typeof SOURCES)[]

  it.each(names.map((name, at) => [name, at] as const))(
    'is %s where no better one has a value, for agent and script',
    async (name, at) => {
      const sources = names.slice(at).map(other => SOURCES[other])
      await using here = await machine({ 'proc/self/mounts': ON_DISK }, ...sources)
      await here.fingerprint()
      expect(await here.identity()).toMatchObject({ source: name })
      await here.script()
      expect((await here.source()).split(' ')[0]).toBe(name)
    },
  )

  it.each(names)('%s makes one device of all starts, and another one of a copied disk', async name => {
    const values = Object.values(SOURCES[name])
    const copied = Object.fromEntries(
      Object.entries(SOURCES[name]).map(([path, text]) => [
        path,
        // Another value of the same form. Types of devices and of file systems stay.
        text.length > 12 && text !== ON_DISK
          ? text.replace(/[1-9](?=[^1-9]*$)/, digit => String((Number(digit) % 9) + 1))
          : text,
      ]),
    )
    expect(Object.values(copied)).not.toEqual(values)
    await using here = await machine(SOURCES[name])
    const [first, printed] = [await here.fingerprint(), await here.script()]
    await here.become(SOURCES[name])
    expect([await here.fingerprint(), await here.script()]).toEqual([first, printed])
    await here.become(copied)
    const other = [await here.fingerprint(), await here.script()]
    expect(other[0]).not.toBe(first)
    expect(other[1]).not.toBe(printed)
    expect([await here.fingerprint(), await here.script()]).toEqual(other)
  })

  it('stays when a better one appears, when a second adapter comes first, and when it cannot be read', async () => {
    await using here = await machine(SOURCES.mac)
    const both = async () => [await here.fingerprint(), await here.script()]
    const first = await both()
    await here.write({
      ...SOURCES['device-tree-serial'],
      'sys/class/net/aaa0/device/id': '',
      'sys/class/net/aaa0/type': '1',
      'sys/class/net/aaa0/addr_assign_type': '0',
      'sys/class/net/aaa0/address': '52:54:00:99:99:99\n',
    })
    expect(await both()).toEqual(first)
    await here.become({})
    expect(await both()).toEqual(first)
  })

  it('D2: stays while one of several adapters is left, and changes where all are others', async () => {
    const adapter = (net: string, address: string): Files => ({
      [`sys/class/net/${net}/device/id`]: '',
      [`sys/class/net/${net}/type`]: '1',
      [`sys/class/net/${net}/addr_assign_type`]: '0',
      [`sys/class/net/${net}/address`]: `${address}\n`,
    })
    const built = adapter('wlan0', '52:54:00:00:00:02')
    await using here = await machine(adapter('eth0', '52:54:00:00:00:01'), built)
    const both = async () => [await here.fingerprint(), await here.script()]
    const first = await both()
    await here.become(built)
    expect(await both()).toEqual(first)
    await here.become(built, adapter('eth0', '52:54:00:00:00:03'))
    expect(await both()).toEqual(first)
    await here.become(adapter('eth0', '52:54:00:00:00:03'), adapter('wlan0', '52:54:00:00:00:04'))
    const other = await both()
    expect(other[0]).not.toBe(first[0])
    expect(other[1]).not.toBe(first[1])
  })

  it('is not a machine id in memory: each start of a read-only root is the same device', async () => {
    await using here = await machine({ 'proc/self/mounts': IN_MEMORY, 'etc/machine-id': `${MACHINE_ID}\n` })
    const both = async () => [await here.fingerprint(), await here.script()]
    const first = await both()
    await here.write({ 'etc/machine-id': `${MACHINE_ID.replace('b', 'c')}\n` })
    expect(await both()).toEqual(first)
  })

  it('is not an address that was set or is random, nor that of a virtual adapter', async () => {
    for (const files of [
      { [`${NET}/addr_assign_type`]: '3' },
      { [`${NET}/addr_assign_type`]: '1' },
      { [`${NET}/type`]: '772' },
    ]) {
      await using here = await machine(SOURCES.mac, files)
      await here.fingerprint()
      expect(await here.identity()).not.toHaveProperty('source')
      await here.script()
      expect(await here.source()).toBe('none \n')
    }
    await using here = await machine(SOURCES.mac, {
      [`${NET}/addr_assign_type`]: '3',
      [`${NET}/bonding_slave/perm_hwaddr`]: '52:54:00:aa:bb:cc\n',
    })
    await here.fingerprint()
    expect(await here.identity()).toMatchObject({ source: 'mac', value: '52:54:00:aa:bb:cc' })
    await here.script()
    expect(await here.source()).toBe('mac 52:54:00:aa:bb:cc\n')
  })

  it.each([
    ['device-tree-serial', '0000000000000000\0'],
    ['device-tree-serial', '0123456789ABCDEF\0'],
    ['device-tree-serial', 'To Be Filled By O.E.M.\0'],
    ['emmc-cid', `${'0'.repeat(32)}\n`],
    ['emmc-cid', `${'f'.repeat(32)}\n`],
    ['mac', '00:00:00:00:00:00\n'],
    ['mac', 'ff:ff:ff:ff:ff:ff\n'],
    ['mac', '00:11:22:33:44:55\n'],
    ['dmi-uuid', '00000000-0000-0000-0000-000000000000\n'],
    ['dmi-uuid', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF\n'],
    ['dmi-uuid', '03000200-0400-0500-0006-000700080009\n'],
    ['dmi-uuid', 'Not Specified\n'],
  ] as const)('is not %s with the placeholder %j', async (name, text) => {
    const path = Object.keys(SOURCES[name]).at(-1)!
    await using here = await machine(SOURCES[name], { [path]: text }, SOURCES['machine-id'])
    await here.fingerprint()
    expect(await here.identity()).toMatchObject({ source: 'machine-id' })
    await here.script()
    expect(await here.source()).toMatch(/^machine-id /)
  })

  it('an existing data folder keeps its fingerprint, with a machine id and without one', async () => {
    const ids = { 'machine-id': SOURCES['machine-id'], none: { 'proc/self/mounts': IN_MEMORY } }
    for (const files of Object.values(ids)) {
      await using here = await machine(files)
      const former = await here.former()
      expect(await here.fingerprint()).toBe(former)
      await here.write({ ...SOURCES['device-tree-serial'], ...SOURCES.mac, ...SOURCES['dmi-uuid'] })
      expect(await here.fingerprint()).toBe(former)
      expect(await here.former()).toBe(former)
    }
  })

  it('an existing salt keeps what the script prints', async () => {
    await using here = await machine(SOURCES['machine-id'], SOURCES['device-tree-serial'], SOURCES.mac)
    const former = await here.formerScript()
    expect(await here.script()).toBe(former)
    await here.write({ 'proc/self/mounts': IN_MEMORY })
    expect(await here.script()).toBe(former)
    expect(await here.formerScript()).toBe(former)
    await expect(here.source()).rejects.toThrow('ENOENT')
  })

  it('is printed by `fingerprint --source`, which makes nothing', async () => {
    await using here = await machine(SOURCES.mac)
    expect(await runScript(here.path, here.root, EXAMPLE, '--source')).toBe('mac 52:54:00:12:34:56\n')
    await expect(stat(join(here.path, 'state'))).rejects.toThrow('ENOENT')
  })
})
