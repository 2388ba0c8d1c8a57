import type { ActionOutput } from '@muster/actions/client'
import { bytesOf, countOf, recordOf, recordsOf, textOf } from './device-json.ts'
import { OLD_SYSTEM_INFO, OTA_STATUS, SYSTEM_INFO } from './property-names.ts'

/** The properties of a device in the hub's answer. */
export type Properties = ActionOutput<'devices_QueryProperties'>['properties']

/** Properties by name, from answers of `devices_GetProperty`. */
export function foundProperties(answers: readonly ActionOutput<'devices_GetProperty'>[]): Properties {
  return Object.fromEntries(
    answers.flatMap(answer => (answer.result === 'Found' ? [[answer.name, answer] as const] : [])),
  )
}

/** System info of a device, parsed. A field that is missing or has an unexpected type is `undefined`, a list is empty. */
export type SystemInfo = {
  lastUpdated: string
  hostname: string | undefined
  name: string | undefined
  version: string | undefined
  kernel: string | undefined
  arch: string | undefined
  memoryBytes: number | undefined
  /** Version of the agent. */
  agent: string | undefined
  networks: { name: string; macAddress: string | undefined; ipAddresses: string[] }[]
  disks: Disk[]
  exports: Export[]
}

/** A service that a device declares in its system info. `path` begins with a slash. */
export type Export = { protocol: string; name: string; port: number; path: string }

/** A disk of a device. `availableShare` (0 to 1) is `undefined` unless both sizes are known. */
export type Disk = {
  name: string
  filesystem: string | undefined
  mountPoint: string | undefined
  totalBytes: number | undefined
  availableBytes: number | undefined
  availableShare: number | undefined
}

/**
 * The system info of a device. If the device has both system info properties, the newer one counts. The result is
 * `undefined` if the device has neither property, and `'unreadable'` if the value is not an object (docs/protocol.md 4.2).
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
    agent: textOf(recordOf(value.agent)?.version),
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
    exports: recordsOf(value.exports).flatMap(readExport),
  }
}

/** Reads a declared service. Returns an empty array unless its port is from 1 to 65535. */
function readExport(declared: Record<string, unknown>): Export[] {
  const port = countOf(declared.port)
  if (port < 1 || port > 65_535) return []
  const path = textOf(declared.path) ?? '/'
  return [
    {
      protocol: textOf(declared.protocol) ?? 'http',
      name: textOf(declared.name) ?? `Port ${port}`,
      port,
      path: path.startsWith('/') ? path : `/${path}`,
    },
  ]
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
  /** Number of failed attempts in a row, 0 if the device reports none. */
  failureCount: number
  lastError: string | undefined
}

/**
 * The update status of a device. The result is `undefined` without the property `dev.nexigon.ota.status`, and
 * `'unreadable'` if its value is not an object (docs/protocol.md 4.4).
 */
export function readOtaStatus(properties: Properties): OtaStatus | 'unreadable' | undefined {
  const property = own(properties, OTA_STATUS)
  if (!property) return undefined
  return otaStatusOf(property.value) ?? 'unreadable'
}

/** The update status in a value of `dev.nexigon.ota.status`; `undefined` if the value is not an object. */
export function otaStatusOf(json: unknown): OtaStatus | undefined {
  const value = recordOf(json)
  return (
    value && {
      currentVersion: textOf(value.currentVersion),
      targetVersion: textOf(value.targetVersion),
      state: textOf(value.state),
      failureCount: countOf(value.failureCount),
      lastError: textOf(value.lastError),
    }
  )
}

/** The string `status` in a value of `dev.nexigon.system.health`; `undefined` if it is absent or no string (docs/protocol.md 4.3). */
export function healthOf(json: unknown): string | undefined {
  const status = recordOf(json)?.status
  return typeof status === 'string' ? status : undefined
}

/** Compares names by code unit, independent of the locale. */
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
