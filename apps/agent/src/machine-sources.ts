import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Sources of an identity of a machine, in the order of preference. `examples/fingerprint` has the same sources and ignores the same dummy values. */
export const SOURCES = ['device-tree-serial', 'emmc-cid', 'mac', 'dmi-uuid', 'machine-id'] as const
export type Source = (typeof SOURCES)[number]

/** Values that many machines share, in lower case and without separators. */
const PLACEHOLDERS = new Set([
  'none',
  'na',
  'n/a',
  'unknown',
  'default',
  'defaultstring',
  'notspecified',
  'notapplicable',
  'tobefilledbyoem',
  'systemserialnumber',
  'uninitialized',
  '0123456789',
  '123456789',
  '1234567890',
  '0123456789abcdef',
  '1234567890abcdef',
  // UUIDs of firmware that was never given one.
  '03000200040005000006000700080009',
  '00020003000400050006000700080009',
  'fefefefefefefefefefefefefefefefe',
  '12345678123412345678123456789abc',
  '123456781234567890abcddeefaabbcc',
  '12345678123456789012345678901234',
  // Addresses of network adapters without a memory for one.
  '001122334455',
  '123456789abc',
  '000102030405',
  '010203040506',
])

/** Types of file systems in memory, or that may be: the upper part of an overlay may be in memory. */
const VOLATILE = new Set(['tmpfs', 'ramfs', 'rootfs', 'overlay'])

const ETHERNET = '1'
const PERMANENT = '0'

/** Values of a source that can be read, without placeholders, in lower case. `root` is the folder in which `sys`, `proc` and `etc` are. */
export async function valuesOf(source: Source, root = '/'): Promise<string[]> {
  const values = (await READERS[source](root)).map(value => value.replaceAll('\0', '').trim().toLowerCase())
  return values.filter(value => {
    const text = value.replaceAll(/[ :._-]/g, '')
    return !PLACEHOLDERS.has(text) && !/^(0*|f*)$/.test(text)
  })
}

/** The first source that has a value, with its first value and its others; undefined if there is none. */
export async function pickSource(
  root = '/',
): Promise<{ source: Source; value: string; others?: string[] } | undefined> {
  for (const source of SOURCES) {
    const [value, ...others] = await valuesOf(source, root)
    if (value !== undefined) return { source, value, ...(others.length > 0 && { others }) }
  }
  return undefined
}

const READERS: Record<Source, (root: string) => Promise<string[]>> = {
  'device-tree-serial': root => textsOf(join(root, 'sys/firmware/devicetree/base/serial-number')),
  async 'emmc-cid'(root) {
    const cards = await foldersIn(join(root, 'sys/bus/mmc/devices'))
    // The other types are cards that can be moved to another machine.
    const isBuiltIn = async (card: string): Promise<boolean> => (await textOf(join(card, 'type'))) === 'MMC'
    return inOrder(cards, async card => ((await isBuiltIn(card)) ? textsOf(join(card, 'cid')) : []))
  },
  async mac(root) {
    return inOrder(await foldersIn(join(root, 'sys/class/net')), async net => {
      // A bond shows its own address in place of those of its members.
      const own = await textOf(join(net, 'bonding_slave/perm_hwaddr'))
      if (own !== undefined) return [own]
      const isHardware = (await foldersIn(join(net, 'device'))).length > 0
      const isPermanent =
        (await textOf(join(net, 'type'))) === ETHERNET &&
        (await textOf(join(net, 'addr_assign_type'))) === PERMANENT
      return isHardware && isPermanent ? textsOf(join(net, 'address')) : []
    })
  },
  'dmi-uuid': root => textsOf(join(root, 'sys/class/dmi/id/product_uuid')),
  async 'machine-id'(root) {
    const mounts = (await textOf(join(root, 'proc/self/mounts'))) ?? ''
    return isOnDisk(mounts) ? textsOf(join(root, 'etc/machine-id')) : []
  },
}

/** Whether `/etc/machine-id` is on a disk. On a read-only root, systemd mounts another one from memory at each start. */
function isOnDisk(mounts: string): boolean {
  const types = new Map(mounts.split('\n').map(line => line.split(' ').slice(1, 3) as [string, string]))
  const type = types.get('/etc/machine-id') ?? types.get('/etc') ?? types.get('/')
  return type !== undefined && !VOLATILE.has(type)
}

async function inOrder(folders: string[], read: (folder: string) => Promise<string[]>): Promise<string[]> {
  return (await Promise.all(folders.map(read))).flat()
}

async function textsOf(path: string): Promise<string[]> {
  const text = await textOf(path)
  return text === undefined ? [] : [text]
}

/** Content of a file; undefined if it is absent, or not readable by this account. */
async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').then(
    text => text.trim(),
    () => undefined,
  )
}

/** Paths in a folder in the order of their names; none if it is absent. */
async function foldersIn(path: string): Promise<string[]> {
  const names = await readdir(path).catch(() => [])
  return names.toSorted().map(name => join(path, name))
}
