import type { ActionOutput } from '@muster/actions/client'
import { bytesOf, recordOf, recordsOf, textOf } from './device-json.ts'

/** The properties of a device as the hub answers them. */
export type Properties = ActionOutput<'devices_QueryProperties'>['properties']

/** Name under which current agents report their system. */
export const SYSTEM_INFO = 'dev.nexigon.system.info'
const OLD_SYSTEM_INFO = 'dev.nexigon.systemInfo'

/** Name under which update scripts report what they do. */
export const OTA_STATUS = 'dev.nexigon.ota.status'

/** What could be read of a device's system; anything may be missing. */
export type SystemInfo = {
  lastUpdated: string
  hostname: string | undefined
  name: string | undefined
  version: string | undefined
  kernel: string | undefined
  arch: string | undefined
  memoryBytes: number | undefined
  networks: { name: string; macAddress: string | undefined; ipAddresses: string[] }[]
  disks: Disk[]
}

/** One disk of a device, with the share of it that is free where both sizes are known. */
export type Disk = {
  name: string
  filesystem: string | undefined
  mountPoint: string | undefined
  totalBytes: number | undefined
  availableBytes: number | undefined
  availableShare: number | undefined
}

/**
 * The system of a device: the newer of the two names it may be reported under, `undefined` where neither is there and
 * `'unreadable'` where it is no object (protocol 4.2).
 */
export function readSystemInfo(properties: Properties): SystemInfo | 'unreadable' | undefined {
  const reported = [own(properties, SYSTEM_INFO), own(properties, OLD_SYSTEM_INFO)]
    .flatMap(property => property ?? [])
    .sort((a, b) => timeOf(b.lastUpdated) - timeOf(a.lastUpdated))[0]
  if (!reported) return undefined
  const value = recordOf(reported.value)
  if (!value) return 'unreadable'
  return {
    lastUpdated: reported.lastUpdated,
    hostname: textOf(value.hostname),
    name: textOf(value.name),
    version: textOf(value.version),
    kernel: textOf(value.kernel),
    arch: textOf(value.arch),
    memoryBytes: bytesOf(recordOf(value.memory)?.total),
    networks: recordsOf(value.networks)
      .map(network => ({
        name: textOf(network.name) ?? '–',
        macAddress: textOf(network.macAddress),
        ipAddresses: Array.isArray(network.ipAddresses)
          ? network.ipAddresses.flatMap(address => textOf(address) ?? [])
          : [],
      }))
      .sort((a, b) => compareNames(a.name, b.name)),
    disks: recordsOf(value.disks).map(readDisk),
  }
}

function readDisk(disk: Record<string, unknown>): Disk {
  const totalBytes = bytesOf(disk.totalSpace)
  const availableBytes = bytesOf(disk.availableSpace)
  return {
    name: textOf(disk.name) ?? '–',
    filesystem: textOf(disk.filesystem),
    mountPoint: textOf(disk.mountPoint),
    totalBytes,
    availableBytes,
    availableShare:
      totalBytes && availableBytes !== undefined ? Math.min(1, availableBytes / totalBytes) : undefined,
  }
}

type OtaStatus = {
  currentVersion: string | undefined
  targetVersion: string | undefined
  state: string | undefined
}

/** The update status of a device, read like the system info (protocol 4.4). */
export function readOtaStatus(properties: Properties): OtaStatus | 'unreadable' | undefined {
  const property = own(properties, OTA_STATUS)
  if (!property) return undefined
  const value = recordOf(property.value)
  if (!value) return 'unreadable'
  return {
    currentVersion: textOf(value.currentVersion),
    targetVersion: textOf(value.targetVersion),
    state: textOf(value.state),
  }
}

/** Order of names and keys: by character, the same for everybody. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function own(properties: Properties, name: string): Properties[string] | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

function timeOf(timestamp: string): number {
  return Date.parse(timestamp) || 0
}
