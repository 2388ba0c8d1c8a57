import { readFile, statfs } from 'node:fs/promises'
import { hostname, type as kernelName, machine, networkInterfaces, release, totalmem } from 'node:os'
import { VERSION } from '@muster/actions/version'
import type { Export } from './config.ts'
import { withDeadline } from './deadline.ts'
import { diskMounts, type Mount } from './mounts.ts'

/** Name of the property with the system information (docs/protocol.md 4.2). */
export const SYSTEM_INFO_PROPERTY = 'dev.nexigon.system.info'

type Network = { name: string; macAddress: string; ipAddresses: string[] }

type Disk = {
  name: string
  filesystem: string
  mountPoint: string
  totalSpace: number
  availableSpace: number
}

/** Value of the system information property; sizes are bytes (docs/protocol.md 4.2). */
export type SystemInfo = {
  name?: string
  version?: string
  kernel?: string
  hostname?: string
  arch?: string
  memory: { total: number }
  networks: Network[]
  disks: Disk[]
  exports?: Export[]
  agent: { version: string; config: { terminal: { enabled: boolean }; commands: { enabled: boolean } } }
}

const STATFS_TIMEOUT_MS = 2000
const MAX_NETWORKS = 64
const MAX_DISKS = 64

/** Features that the hub may use on devices with this agent. Terminals and commands are disabled (docs/protocol.md R-18). */
export const AGENT_INFO: SystemInfo['agent'] = {
  version: VERSION,
  config: { terminal: { enabled: false }, commands: { enabled: false } },
}

/** Reads the system information of this machine. Parts that cannot be read are omitted. */
export async function readSystemInfo(
  exports: Export[] = [],
  publishedHostname = hostname(),
): Promise<SystemInfo> {
  const osRelease = parseOsRelease(await readOptional('/etc/os-release'))
  const name = osRelease.NAME
  return {
    ...(name !== undefined && {
      name,
      version: `${kernelName()} (${[name, osRelease.VERSION_ID].filter(Boolean).join(' ')})`,
    }),
    kernel: `${kernelName()} ${release()}`,
    hostname: publishedHostname,
    arch: archOf(machine()),
    memory: { total: totalmem() },
    networks: readNetworks(),
    disks: await readDisks(await readOptional('/proc/mounts')),
    ...(exports.length > 0 && { exports }),
    agent: AGENT_INFO,
  }
}

/** Parses the keys and values of an os-release file and removes quotes (os-release(5)). */
export function parseOsRelease(text: string): Partial<Record<string, string>> {
  const entries = [...text.matchAll(/^([A-Z0-9_]+)=(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(.*))$/gm)]
  return Object.fromEntries(
    entries.map(([, key, double, single, bare]) => [
      key,
      double?.replace(/\\(.)/g, '$1') ?? single ?? bare?.trim(),
    ]),
  )
}

/** Maps a machine name of `uname -m` to the architecture name in Rust's spelling, which published Nexigon agents send. */
export function archOf(unameMachine: string): string {
  if (unameMachine === 'arm64') return 'aarch64'
  if (unameMachine === 'AMD64') return 'x86_64'
  if (/^armv[0-9]/.test(unameMachine)) return 'arm'
  return /^i[3-6]86$/.test(unameMachine) ? 'x86' : unameMachine
}

function readNetworks(): Network[] {
  return Object.entries(networkInterfaces())
    .map(([name, addresses = []]) => ({ name, addresses: addresses.filter(address => !address.internal) }))
    .filter(({ addresses }) => addresses.length > 0)
    .map(({ name, addresses }) => ({
      name,
      macAddress: addresses[0]!.mac,
      ipAddresses: addresses.map(address => address.cidr ?? address.address),
    }))
    .slice(0, MAX_NETWORKS)
}

async function readDisks(mounts: string): Promise<Disk[]> {
  const disks = await Promise.all(diskMounts(mounts).slice(0, MAX_DISKS).map(readDisk))
  return disks.filter(disk => disk !== undefined)
}

async function readDisk({ device, mountPoint, filesystem }: Mount): Promise<Disk | undefined> {
  try {
    const { blocks, bavail, bsize } = await withDeadline(
      statfs(mountPoint),
      STATFS_TIMEOUT_MS,
      `statfs ${mountPoint}`,
    )
    if (blocks === 0) return undefined
    return {
      name: device,
      filesystem,
      mountPoint,
      totalSpace: blocks * bsize,
      availableSpace: bavail * bsize,
    }
  } catch {
    // The file system is not accessible, or its disk does not answer.
    return undefined
  }
}

async function readOptional(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return ''
  }
}
