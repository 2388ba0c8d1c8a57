import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isDeploymentToken, isLoopback, MAX_EVENT_BYTES } from '@muster/actions/client'
import { isProxyUrl, type SiteProxy } from '@muster/link/site-proxy'
import { parse, TomlError } from 'smol-toml'
import { ConfigError } from './config-error.ts'
import { ConfigTable } from './config-table.ts'
import { codeOf } from './describe-error.ts'
import type { EventQueueBounds } from './event-queue.ts'
import { handlerIn, WORK_NAME } from './operations/device-commands.ts'
import type { DeviceTask, OperationsConfig } from './operations/device-work.ts'

/** A web server on this device that the console may link to. It is published with the system information (docs/protocol.md 4.2). */
export type Export = { protocol: 'http' | 'https'; name: string; port: number; path?: string }

/** Complete configuration of an agent: its identity, its hub, and the information that it publishes. */
export type AgentConfig = {
  hubUrl: string
  token: string
  /** Program whose output identifies the device. Without it the machine id is used (machine-fingerprint.ts). */
  fingerprintScript?: string
  certificatePath: string
  keyPath: string
  dataDir: string
  /** Allows `http://`. The device's certificate is then sent in a header, which others on the network can copy. */
  allowPlaintext: boolean
  /** Skips the verification of the hub's certificate. */
  acceptInvalidCertificates: boolean
  /** HTTP proxy that leads to the hub, instead of the one that the environment names. */
  proxyUrl?: string
  /** The proxy to use, from the setting or the environment. */
  proxy?: SiteProxy
  publishSystemInfo: boolean
  exports: Export[]
  /** Bounds of the events that wait on the disk while the hub cannot be reached. */
  eventQueue: EventQueueBounds
  /** Host name to publish instead of the machine's own. */
  hostname?: string
  /** Folder with definitions of commands; absent if the device offers none. */
  commandsFolder?: string
  /** Work of operations; absent if the device does none. */
  operations?: OperationsConfig
}

/** Command-line options that replace a configuration file. */
export type ConfigOptions = {
  hub: string
  token: string
  data?: string
  name?: string
  fingerprintScript?: string
  dangerousAllowPlaintext?: boolean
  dangerousAcceptInvalidCertificates?: boolean
  proxyUrl?: string
}

/** Default path of the configuration file, the same as for published Nexigon agents (docs/protocol.md 8.1). */
export const DEFAULT_CONFIG_PATH = '/etc/nexigon/agent.toml'

const DEFAULT_EVENT_QUEUE: EventQueueBounds = { maxEvents: 10_000, maxBytes: 16 * 1024 * 1024 }
const DEFAULT_COMMANDS_FOLDER = '/etc/nexigon/agent/commands'
const DEFAULT_POLL_INTERVAL_SECS = 60
const DEFAULT_DATA_PATH = '/var/lib/nexigon/agent'
const DEFAULT_SSL_FOLDER = '/etc/nexigon/agent/ssl'

/** Folder of the agent's identity when `--hub` and `--token` are given without `--data`. */
function defaultDataDir(): string {
  try {
    return join(homedir(), '.local', 'state', 'muster-agent')
  } catch (cause) {
    throw new ConfigError(
      '--data: found no home of this account, expected a folder for the identity of this device',
      { cause },
    )
  }
}

/**
 * Reads a configuration file in the format of the published Nexigon agents of 2025 or 2026. Unknown keys are ignored; relative
 * paths are resolved against the file's folder (docs/protocol.md 8.1). Throws `ConfigError` with the key, the found value and the
 * expected value.
 */
export async function readConfigFile(path: string): Promise<AgentConfig> {
  return parseConfig(await readText(path), path)
}

/** Parses the text of a configuration file; `path` is used in messages and for relative paths. */
export function parseConfig(text: string, path: string): AgentConfig {
  const table = new ConfigTable(parseToml(text, path), path)
  const allowPlaintext = flag(table, 'dangerous-allow-plaintext') || flag(table, 'dangerous-disable-tls')
  const pathOf = (key: string, value: string) => resolve(dirname(resolve(path)), table.text(key) ?? value)
  // The key `fingerprint-script` is required. Otherwise a misspelt key would be ignored, and the device would join as a new
  // device with another fingerprint.
  const fingerprintScript = table.required(
    'fingerprint-script',
    'the path of a program whose output identifies the device',
    table.text('fingerprint-script'),
  )
  return {
    hubUrl: hubUrlOf(table, allowPlaintext),
    token: tokenOf(table),
    fingerprintScript: resolve(dirname(resolve(path)), fingerprintScript),
    certificatePath: pathOf('ssl-cert', join(DEFAULT_SSL_FOLDER, 'cert.pem')),
    keyPath: pathOf('ssl-key', join(DEFAULT_SSL_FOLDER, 'key.pem')),
    dataDir: pathOf('data-path', DEFAULT_DATA_PATH),
    allowPlaintext,
    acceptInvalidCertificates: flag(table, 'dangerous-accept-invalid-certificates'),
    ...proxyUrlOf(table),
    publishSystemInfo:
      (table.table('telemetry')?.flag('system-info') ?? true) && !flag(table, 'disable-system-info'),
    exports: table.tables('exports').map(exportOf),
    eventQueue: eventQueueOf(table.table('event-queue')),
    ...commandsOf(table.table('commands'), dirname(resolve(path))),
    ...operationsOf(table.table('operations')),
  }
}

/** Creates a configuration from options. Throws `ConfigError` with the option, the found value and the expected value. */
export function configFromOptions(options: ConfigOptions): AgentConfig {
  const table = new ConfigTable(
    { '--hub': options.hub, '--token': options.token, '--proxy-url': options.proxyUrl },
    '',
  )
  const dataDir = resolve(options.data ?? defaultDataDir())
  const isLocal = URL.canParse(options.hub) && isLoopback(options.hub)
  const allowPlaintext = isLocal || options.dangerousAllowPlaintext === true
  return {
    hubUrl: hubUrlOf(table, allowPlaintext, '--hub', '--dangerous-allow-plaintext'),
    token: tokenOf(table, '--token'),
    ...(options.fingerprintScript !== undefined && { fingerprintScript: resolve(options.fingerprintScript) }),
    certificatePath: join(dataDir, 'cert.pem'),
    keyPath: join(dataDir, 'key.pem'),
    dataDir,
    allowPlaintext,
    acceptInvalidCertificates: options.dangerousAcceptInvalidCertificates === true,
    ...proxyUrlOf(table, '--proxy-url'),
    publishSystemInfo: true,
    exports: [],
    eventQueue: DEFAULT_EVENT_QUEUE,
    ...(options.name !== undefined && { hostname: options.name }),
  }
}

function hubUrlOf(
  table: ConfigTable,
  allowPlaintext: boolean,
  key = 'hub-url',
  plaintextKey = 'dangerous-allow-plaintext = true',
): string {
  const expected = 'the address of the hub, for example "https://hub.example.com"'
  const text = table.required(key, expected, table.text(key))
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && allowPlaintext)) return text
  throw table.wrong(key, url?.protocol === 'http:' ? `https://, or ${plaintextKey}` : expected)
}

function proxyUrlOf(table: ConfigTable, key = 'proxy-url'): { proxyUrl?: string } {
  const proxyUrl = table.text(key)
  if (proxyUrl === undefined) return {}
  // The value is not shown, because it may hold a password.
  if (!isProxyUrl(proxyUrl))
    throw table.wrong(
      key,
      'the address of a proxy, for example "http://proxy.example.com:3128"',
      'another text',
    )
  return { proxyUrl }
}

function tokenOf(table: ConfigTable, key = 'token'): string {
  const expected = 'a deployment token: deployment_ and 66 base-58 characters'
  const token = table.required(key, expected, table.text(key))
  if (!isDeploymentToken(token)) throw table.wrong(key, expected, `a text of ${token.length} characters`)
  return token
}

function exportOf(table: ConfigTable): Export {
  const expected = '"http" or "https"'
  const protocol = table.required('protocol', expected, table.text('protocol'))
  if (protocol !== 'http' && protocol !== 'https') throw table.wrong('protocol', expected)
  const name = table.required('name', 'a text', table.text('name'))
  const port = table.required('port', 'a port from 1 to 65535', table.integer('port', 1, 65535))
  const path = table.text('path')
  return { protocol, name, port, ...(path !== undefined && { path }) }
}

function eventQueueOf(table: ConfigTable | undefined): EventQueueBounds {
  return {
    maxEvents: table?.integer('max-events', 0, 1_000_000) ?? DEFAULT_EVENT_QUEUE.maxEvents,
    maxBytes: table?.integer('max-bytes', 2 * MAX_EVENT_BYTES, 1024 ** 3) ?? DEFAULT_EVENT_QUEUE.maxBytes,
  }
}

function commandsOf(table: ConfigTable | undefined, folder: string): { commandsFolder?: string } {
  if (!table?.flag('enabled')) return {}
  return { commandsFolder: resolve(folder, table.text('directory') ?? DEFAULT_COMMANDS_FOLDER) }
}

function operationsOf(table: ConfigTable | undefined): { operations?: OperationsConfig } {
  if (!table?.flag('enabled')) return {}
  const tasks = table.tables('tasks').map(taskOf)
  return {
    operations: {
      pollIntervalSecs: table.integer('poll-interval-secs', 1, 86_400) ?? DEFAULT_POLL_INTERVAL_SECS,
      tasks,
    },
  }
}

function taskOf(table: ConfigTable): DeviceTask {
  const expected = '1 to 128 letters, digits, dots, underscores or dashes'
  const name = table.required('name', expected, table.text('name'))
  if (!WORK_NAME.test(name)) throw table.wrong('name', expected)
  return { name, handler: handlerIn(table), isResumable: flag(table, 'resumable') }
}

function flag(table: ConfigTable, key: string): boolean {
  return table.flag(key) ?? false
}

function parseToml(text: string, path: string): Record<string, unknown> {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const problem = error.message.split('\n')[0]
    throw new ConfigError(
      `${path}: found a syntax error in line ${error.line}, column ${error.column} (${problem}), expected TOML`,
    )
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new ConfigError(
      `--config: found ${path} (${codeOf(error)}), expected a readable configuration file, or --hub and --token`,
      { cause: error },
    )
  }
}
