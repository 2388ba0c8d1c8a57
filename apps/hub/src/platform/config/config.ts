import { readFileSync } from 'node:fs'
import { isIP, isIPv6 } from 'node:net'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { BANNER_TAGS, isLoopback, MAX_INSTANCE_NAME_LENGTH, S3 } from '@muster/actions'
import { stringify } from 'smol-toml'
import { z } from 'zod'
import { type LimitValues, limitNames, limitOf, settingOf } from '../limits/limits.ts'
import { LOG_LEVELS } from '../runtime/log.ts'
import { normalS3Settings, type S3Settings } from '../storage/s3-settings.ts'
import { ConfigError } from './config-error.ts'
import { keyOf, readSources, type SettingSources } from './setting-sources.ts'

/** Paths of the PEM files with the hub's certificate chain and its private key. */
export type TlsFiles = {
  certPath: string
  keyPath: string
  /** Whether clients without AEAD ciphers are refused. */
  refusesCbc?: true
  /** Whether the keys of a connection are agreed upon without a part that withstands quantum computers. */
  isClassicExchange?: true
}

/**
 * Parses a whole number of at most nine decimal digits. Other notations, such as 0x50 or 8e1, are rejected as likely typing
 * mistakes.
 */
function wholeNumber(min: number, max: number, expected: string) {
  return z
    .string()
    .regex(/^\d{1,9}$/, expected)
    .transform(Number)
    .pipe(z.number().min(min, expected).max(max, expected))
}

/** Parses a size in bytes, in decimal digits. */
function byteSize(min: number) {
  const expected = `a number of bytes from ${min} to ${Number.MAX_SAFE_INTEGER}`
  return z
    .string()
    .regex(/^\d{1,16}$/, expected)
    .transform(Number)
    .pipe(z.number().min(min, expected).max(Number.MAX_SAFE_INTEGER, expected))
}

const Flag = z.enum(['0', '1'], { error: '0 or 1' }).transform(value => value === '1')
const Origin = z
  .string()
  .refine(text => {
    const url = URL.parse(text)
    return url !== null && /^https?:$/.test(url.protocol) && isBare(url)
  }, 'an http:// or https:// URL without a path')
  .transform(url => new URL(url).origin)
const HostAddress = z.string().regex(/^[\w.:%-]+$/, 'an address or host name')
const Hex32 = z.string().regex(/^[0-9a-f]{64}$/i, '64 hexadecimal digits (openssl rand -hex 32)')
const Network = z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], {
  error: 'addresses or networks in CIDR form',
})
const Networks = z
  .string()
  .transform(text => text.split(/[\s,]+/).filter(Boolean))
  .pipe(z.array(Network))
/** Purposes for which the hub connects to addresses that users enter. Without a purpose, an entry means `storage`. */
const PURPOSES = ['storage', 'webhooks', 'otlp'] as const
type OutboundPurpose = (typeof PURPOSES)[number]
const OUTBOUND = new RegExp(`^(?:(${PURPOSES.join('|')}):)?(.+)$`)
/** Networks, each with the purpose that it is for: `10.0.0.0/8`, `webhooks:10.1.0.0/16`. */
const OutboundNetworks = z
  .string()
  .transform(text => text.split(/[\s,]+/).filter(Boolean))
  .pipe(
    z.array(
      z.string().refine(entry => Network.safeParse(OUTBOUND.exec(entry)![2]).success, {
        error: 'addresses or networks in CIDR form',
      }),
    ),
  )

/** Networks of the entries for a purpose. */
function networksFor(entries: readonly string[], purpose: OutboundPurpose): string[] {
  return entries.flatMap(entry => {
    const [, of = 'storage', network] = OUTBOUND.exec(entry)!
    return of === purpose ? [network!] : []
  })
}
const HostNames = z
  .string()
  .transform(text => text.split(/[\s,]+/).filter(Boolean))
  .pipe(
    z.array(
      z
        .string()
        .transform(name => hostNameOf(name) ?? '')
        .pipe(z.string().min(1, 'host names or addresses, without scheme and port')),
    ),
  )
const LinkUrl = z.url({ protocol: /^https?$/, error: 'an http:// or https:// URL' })
const CollectorUrl = LinkUrl.refine(text => {
  const { username, password } = new URL(text)
  return username === '' && password === ''
}, 'an http:// or https:// URL without credentials, which belong in MUSTER_TRACES_HEADERS')
const Headers = z
  .string()
  .refine(text => headersOf(text) !== undefined, 'name=value, or several such pairs with commas between them')
  .transform(text => headersOf(text)!)

const DatabaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'a postgresql:// URL')
  // Rejects a URL with several hosts. libpq would try the hosts one by one, but the hub's driver does not support them.
  .refine(
    text => !hasSeveralHosts(text),
    'a postgresql:// URL with one host (a name or an address that follows the primary)',
  )
  .refine(text => URL.canParse(text), 'a postgresql:// URL')

/** URLs of the servers of one NATS cluster. */
const NatsUrls = z
  .string()
  .transform(text => text.split(',').map(url => url.trim()))
  .refine(
    urls => urls.every(isNatsUrl) && new Set(urls.map(url => new URL(url).protocol)).size === 1,
    'nats:// or tls:// URLs with a host and without a path, separated by commas, all with the same scheme',
  )

/**
 * Settings of the hub, except for the limits, which `allSettings` adds. Each setting has the name of its environment
 * variable, a zod schema and a default. The error message of the zod schema describes the expected value.
 */
const Settings = z.object({
  MUSTER_PORT: wholeNumber(0, 65535, 'a port number').default(6878),
  MUSTER_HOST: HostAddress.default('127.0.0.1'),
  MUSTER_PUBLIC_URL: Origin.optional(),
  MUSTER_HOSTS: HostNames.default([]),
  MUSTER_DATA_DIR: z.string().min(1, 'a folder').default('.muster'),
  MUSTER_DATABASE_URL: DatabaseUrl.optional(),
  MUSTER_DATABASE_DIRECT_URL: DatabaseUrl.optional(),
  MUSTER_NATS_URL: NatsUrls.optional(),
  MUSTER_BUS: z.enum(['postgresql', 'nats', 'both'], 'postgresql, nats or both').optional(),
  MUSTER_NODE_NAME: z.string().max(128, 'a name of at most 128 characters').default(hostname()),
  MUSTER_NODE_PORT: wholeNumber(0, 65535, 'a port number').optional(),
  MUSTER_NODE_HOST: HostAddress.default('127.0.0.1'),
  MUSTER_NODE_URL: Origin.optional(),
  MUSTER_ALLOW_PLAINTEXT_NODES: Flag.default(false),
  MUSTER_DRAIN_SECS: wholeNumber(0, 3600, 'a number of seconds from 0 to 3600').default(10),
  MUSTER_REBALANCE: z.enum(['auto', 'manual'], { error: 'auto or manual' }).default('manual'),
  MUSTER_TLS_CERT: z.string().min(1, 'a file').optional(),
  MUSTER_TLS_KEY: z.string().min(1, 'a file').optional(),
  MUSTER_TLS_CBC: Flag.default(true),
  MUSTER_TLS_KEY_EXCHANGE: z.enum(['hybrid', 'classic'], { error: 'hybrid or classic' }).default('hybrid'),
  MUSTER_HSTS_SUBDOMAINS: Flag.default(false),
  MUSTER_DEVICE_PORT: wholeNumber(0, 65535, 'a port number').optional(),
  MUSTER_OPERATOR_PORT: wholeNumber(0, 65535, 'a port number').optional(),
  MUSTER_OPERATOR_HOST: HostAddress.default('127.0.0.1'),
  MUSTER_OPERATOR_TOKEN: z
    .string()
    .regex(/^[!-~]{32,256}$/, '32 to 256 ASCII characters without blanks (openssl rand -hex 32)')
    .optional(),
  MUSTER_TRACES_URL: CollectorUrl.optional(),
  MUSTER_TRACES_HEADERS: Headers.optional(),
  MUSTER_TRACES_PERCENT: wholeNumber(0, 100, 'a whole number from 0 to 100').default(10),
  MUSTER_PROXY_DOMAIN: z
    .string()
    .regex(
      /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
      'a domain in lower case',
    )
    .optional(),
  MUSTER_TRUSTED_PROXIES: Networks.default([]),
  // Proxies send the secret in a header. HTTP strips blanks around a header's value and defines no encoding beyond ASCII, so a secret
  // with other characters would never match.
  MUSTER_PROXY_SECRET: z
    .string()
    .regex(/^[!-~][ -~]{14,}[!-~]$/, 'at least 16 ASCII characters without blanks around them')
    .optional(),
  MUSTER_ALLOW_PLAINTEXT_DEVICES: Flag.default(false),
  MUSTER_DISK_LOW_BYTES: byteSize(1024 ** 2).default(256 * 1024 ** 2),
  MUSTER_PROXY_SILENCE_SECS: wholeNumber(0, 86_400, 'a number of seconds from 0 (never) to 86400').default(
    300,
  ),
  MUSTER_EVENT_RETENTION_DAYS: wholeNumber(1, 3650, 'a number of days from 1 to 3650').default(90),
  MUSTER_AUDIT_RETENTION_DAYS: wholeNumber(30, 36500, 'a number of days from 30 to 36500').optional(),
  MUSTER_BACKUP_DIR: z.string().min(1, 'a folder').optional(),
  MUSTER_BACKUP_KEEP: wholeNumber(1, 1000, 'a number of backups from 1 to 1000').default(14),
  MUSTER_BACKUP_S3: Flag.default(false),
  MUSTER_INSTANCE_KEY: Hex32.optional(),
  MUSTER_INSTANCE_KEY_PREVIOUS: Hex32.optional(),
  MUSTER_S3_ENDPOINT: S3.endpoint.optional(),
  MUSTER_S3_BUCKET: S3.bucket.optional(),
  MUSTER_S3_REGION: S3.region.optional(),
  MUSTER_S3_PREFIX: S3.prefix.optional(),
  MUSTER_S3_ACCESS_KEY_ID: S3.accessKeyId.optional(),
  MUSTER_S3_SECRET_ACCESS_KEY: S3.secretAccessKey.optional(),
  MUSTER_S3_FORCE_PATH_STYLE: Flag.default(true),
  MUSTER_OUTBOUND_ALLOW: OutboundNetworks.default([]),
  MUSTER_OUTBOUND_DENY: Networks.default([]),
  MUSTER_SIGNUP: z.enum(['open', 'invite', 'closed'], { error: 'open, invite or closed' }).default('open'),
  MUSTER_SMTP_URL: z
    .string()
    .refine(
      text => /^smtps?:\/\//i.test(text) && URL.parse(text)?.hostname,
      'an smtp:// or smtps:// URL with a host',
    )
    .optional(),
  MUSTER_MAIL_FROM: z
    .string()
    .regex(
      /^[^<>@\s]+@[^<>@\s]+$|^[^<>\r\n]+ <[^<>@\s]+@[^<>@\s]+>$/,
      'an address, or a name and an address in <>',
    )
    .default('Muster <muster@localhost>'),
  MUSTER_LOG_LEVEL: z.enum(LOG_LEVELS, { error: `one of ${LOG_LEVELS.join(', ')}` }).default('info'),
  MUSTER_CONFIG_JSON: z.string().min(1, 'a file').optional(),
  MUSTER_INSTANCE_NAME: z
    .string()
    .trim()
    .refine(
      name => /^[^\p{Cc}\p{Cs}]+$/u.test(name) && [...name].length <= MAX_INSTANCE_NAME_LENGTH,
      `a name of 1 to ${MAX_INSTANCE_NAME_LENGTH} characters without control characters`,
    )
    .optional(),
  MUSTER_TERMS_URL: LinkUrl.optional(),
  MUSTER_PRIVACY_URL: LinkUrl.optional(),
})

let schema: typeof Settings | undefined

/** Schema of all settings, those of limits included. The default of such a setting is the default of its limit. */
function allSettings(): typeof Settings {
  if (schema) return schema
  const ofLimits = limitNames().map(name => {
    const { max, unit, default: value } = limitOf(name)
    const expected = `a whole number of ${unit} from 1 to ${max}`
    const shape = z
      .string()
      .regex(/^[1-9]\d{0,15}$/, expected)
      .transform(Number)
      .pipe(z.number().max(max, expected))
    return [settingOf(name), shape.default(value)]
  })
  schema = Settings.extend(Object.fromEntries(ofLimits) as Record<never, never>)
  return schema
}

/** Settings whose values no output shows. Each can also be in a file of its own, which the setting with the ending `_FILE` names. */
export const SECRETS = [
  'MUSTER_DATABASE_URL',
  'MUSTER_DATABASE_DIRECT_URL',
  'MUSTER_NATS_URL',
  'MUSTER_OPERATOR_TOKEN',
  'MUSTER_TRACES_HEADERS',
  'MUSTER_PROXY_SECRET',
  'MUSTER_INSTANCE_KEY',
  'MUSTER_INSTANCE_KEY_PREVIOUS',
  'MUSTER_S3_SECRET_ACCESS_KEY',
  'MUSTER_SMTP_URL',
] as const satisfies (keyof typeof Settings.shape)[]

/**
 * Settings that this release has retired, by their names in the environment, each with what to do. A hub ignores them with a warning; the next
 * release forgets them, and then refuses them in a configuration file.
 */
const RETIRED: Readonly<Record<string, string>> = {
  MUSTER_DISK_RESERVE_BYTES: 'the reserve file has 64 MiB',
  MUSTER_MAX_DESCRIPTORS: 'set the limit of open files of the process (LimitNOFILE of the service)',
}

/** Host that is safe in a Content-Security-Policy: it has no character that ends a directive. */
const POLICY_HOST = /^[\w.*:[\]-]+$/

/** Schema of the file named by `MUSTER_CONFIG_JSON`: banner and further scripts of the console (docs/specification.md 1). */
const ConsoleConfig = z.object({
  banner: z.object({ text: z.string() }).optional(),
  scripts: z
    .array(
      z.object({
        src: z
          .string()
          .refine(
            src => /^\/(?![/\\])/.test(src) || (/^https?:\/\//.test(src) && hasPolicyHost(src)),
            'expected an http(s) URL or a path',
          ),
        attributes: z
          .record(z.string(), z.string())
          .refine(
            // The console's Content-Security-Policy would block event handlers such as `onload`, so they are rejected.
            attributes => Object.keys(attributes).every(name => /^(?!on)[a-z][a-z0-9-]*$/i.test(name)),
            'expected attribute names that are no event handlers',
          )
          .default({}),
      }),
    )
    .optional(),
  connect: z
    .array(
      z.string().refine(text => {
        const url = URL.parse(text)
        return url !== null && /^(https?|wss?):$/.test(url.protocol) && isBare(url) && hasPolicyHost(text)
      }, 'expected an http(s) or ws(s) URL without a path'),
    )
    .optional(),
})

/** Validated settings of a hub. */
export type Config = {
  port: number
  host: string
  /** Certificate and key files of the HTTPS listeners; undefined for plain HTTP. */
  tls: TlsFiles | undefined
  /** Whether browsers also use HTTPS alone for names below that of the hub. */
  hstsSubdomains: boolean
  /** Port of a separate listener for devices; undefined if devices use the main listener. */
  devicePort: number | undefined
  /** Port of the listener with metrics and health for operators; undefined if there is none. */
  operatorPort: number | undefined
  operatorHost: string
  /** Bearer token of the operator listener; undefined to use the token in the data folder. */
  operatorToken: string | undefined
  /** URL of the collector of traces; undefined to record none. */
  tracesUrl: string | undefined
  /** Headers for the collector of traces, such as one with a token; undefined for none. */
  tracesHeaders: Record<string, string> | undefined
  /** Share of the traces that begin at this hub and are recorded, in percent. */
  tracesPercent: number
  /** Maximum number of file descriptors that the hub plans with; undefined to use the limit of the process. Tests lower it. */
  maxDescriptors?: number
  /** Origin under which people and devices reach the hub. */
  publicUrl: string
  /** Further host names under which people reach the hub, as in a `Host` header without the port. */
  hosts: string[]
  dataDir: string
  databaseUrl: string | undefined
  /** URL of the same database without a pooler in between, for notifications; undefined to use `databaseUrl`. */
  databaseDirectUrl: string | undefined
  /** URLs of the NATS servers that carry messages between nodes; undefined to use the database. */
  natsUrls: string[] | undefined
  /** Carrier of messages between nodes; undefined for NATS if `natsUrls` is set, else the database. */
  bus: 'postgresql' | 'nats' | 'both' | undefined
  nodeName: string
  /** Port of the listener for links from other nodes; undefined if this node accepts no links. */
  nodePort: number | undefined
  nodeHost: string
  /** Origin under which other nodes reach the listener for links; undefined for the listener's own address. */
  nodeUrl: string | undefined
  /** Whether links to nodes on other machines may be without TLS. */
  allowPlaintextNodes: boolean
  /** Time over which a stopping node hands its devices over to other nodes, in seconds; 0 to close all connections together. */
  drainSecs: number
  /** Whether the nodes with most devices release their surplus by themselves after an outage. */
  rebalance: 'auto' | 'manual'
  /** Interval of heartbeats in milliseconds; undefined for the default. Tests shorten it. */
  heartbeatMs?: number
  /** Whether connections from this machine count for their address. Tests set it, because all of their clients are on one machine. */
  countsLoopback?: boolean
  /**
   * Time for which a statement of a caller waits for a lock, in milliseconds; undefined for the default. Tests lengthen it, because locks
   * are their slow statements.
   */
  callerLockMs?: number
  trustedProxies: string[]
  proxySecret: string | undefined
  /** Domain below which each device has a host name for its web pages; undefined when device pages are off. */
  proxyDomain: string | undefined
  /** Time without data within an answer of a device's page after which it is cut off, in seconds; 0 for never. */
  proxySilenceSecs: number
  allowPlaintextDevices: boolean
  /**
   * Free space in bytes on the embedded database's disk below which writes of devices are restricted, and on the disk of the files below
   * which the hub is degraded.
   */
  diskLowBytes: number
  /** Size of the reserve file in bytes; undefined for the default. Tests lower it. */
  diskReserveBytes?: number
  eventRetentionDays: number
  /** Days for which sealed (hashed and signed) audit rows are kept; undefined keeps them for ever. */
  auditRetentionDays: number | undefined
  /** Folder in which `muster-hub backup` without a file makes backups. */
  backupDir: string
  /** Number of those backups that are kept. */
  backupKeep: number
  /** Whether those backups are also copied into the object storage of the instance. */
  backupToS3: boolean
  /** Instance key, shared by all nodes; undefined to use the key in the data folder. */
  instanceKey: string | undefined
  /** The instance key before a change. At the start, secrets encrypted with this key are re-encrypted with the current key. */
  previousInstanceKey: string | undefined
  /** S3 settings for repositories without object storage of their own; undefined to store their files in the data folder. */
  s3: S3Settings | undefined
  /** Private networks in CIDR form that may contain S3 endpoints of repositories. */
  outboundAllow: string[]
  /** Networks that are not public and in which receivers of webhooks may be. */
  webhooksAllow: string[]
  /** Networks that are not public and in which collectors of the exports of projects may be. */
  otlpAllow: string[]
  /** Networks in CIDR form that must not contain S3 endpoints of repositories, receivers of webhooks and collectors. They have priority over allowed networks. */
  outboundDeny: string[]
  signup: 'open' | 'invite' | 'closed'
  /** URL of the mail server; undefined to write mails to the outbox folder. */
  smtpUrl: string | undefined
  mailFrom: string
  logLevel: (typeof LOG_LEVELS)[number]
  /** Limits per device, token, project, organization and person. */
  limits: LimitValues
  console: z.output<typeof ConsoleConfig> & { termsUrl?: string; privacyUrl?: string; instanceName?: string }
  /** Retired settings that are set and ignored, by their names in the environment. */
  retiredSettings: readonly string[]
}

/**
 * Reads the settings from the environment and from the files that it names (setting-sources.ts). Throws `ConfigError` with a message of
 * one line.
 */
// biome-ignore lint/style/noProcessEnv: only this file reads settings from the environment
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const { config, problems } = checkSettings(env)
  if (problems.length > 0) throw new ConfigError(problems[0]!)
  return config
}

/**
 * Reads the settings as `loadConfig` does and lists all problems, one line each. With problems, the settings that have one are missing in
 * `config`, or have their default.
 */
// biome-ignore lint/style/noProcessEnv: only this file reads settings from the environment
export function checkSettings(env: Record<string, string | undefined> = process.env): {
  config: Config
  problems: string[]
} {
  const sources = sourcesOf(env)
  const set = Object.fromEntries([...sources.values].map(([name, { text }]) => [name, text]))
  const parsed = allSettings().safeParse(set)
  /** Problem of each setting. A later problem of the same setting, such as its absence, follows from the first one. */
  const problems = new Map(sources.problems)
  const add = (key: string, message: string): void => {
    if (!problems.has(key)) problems.set(key, message)
  }
  for (const issue of parsed.error?.issues ?? []) {
    const key = String(issue.path[0])
    const { text, from } = sources.values.get(key)!
    const place = from === 'environment' ? key : `${key} (${from})`
    add(key, `${place}: found ${found(key, text)}, expected ${issue.message.replace(/^expected /, '')}.`)
  }
  const valid = Object.entries(set).filter(([key]) => !problems.has(key))
  const settings = parsed.data ?? allSettings().parse(Object.fromEntries(valid))
  const config = configOf(settings, check => {
    try {
      return check()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      add(error.message.slice(0, error.message.indexOf(':')), error.message)
      return undefined
    }
  })
  return {
    config: { ...config, retiredSettings: [...sources.retired.keys()] },
    problems: [...problems.values()],
  }
}

/** Runs a check of several settings. Notes the `ConfigError` that it throws, and returns undefined. */
type Attempt = <Value>(check: () => Value) => Value | undefined

function configOf(settings: z.output<typeof Settings>, attempt: Attempt): Omit<Config, 'retiredSettings'> {
  attempt(() => requireProxySecret(settings))
  attempt(() => requireNodeUrl(settings))
  attempt(() => requireOperatorTls(settings))
  for (const name of ['MUSTER_DATABASE_DIRECT_URL', 'MUSTER_NATS_URL', 'MUSTER_BUS'] as const)
    attempt(() => requireSharedDatabase(settings, name))
  attempt(() => requireNats(settings))
  attempt(() => requireBackupStore(settings))
  const publicUrl =
    settings.MUSTER_PUBLIC_URL ??
    `${settings.MUSTER_TLS_CERT ? 'https' : 'http'}://localhost:${settings.MUSTER_PORT}`
  attempt(() => requireOtherDomain(settings.MUSTER_PROXY_DOMAIN, publicUrl, settings.MUSTER_HOSTS))
  return {
    port: settings.MUSTER_PORT,
    host: settings.MUSTER_HOST,
    tls: attempt(() => tlsFiles(settings)),
    hstsSubdomains: settings.MUSTER_HSTS_SUBDOMAINS,
    devicePort: settings.MUSTER_DEVICE_PORT,
    operatorPort: settings.MUSTER_OPERATOR_PORT,
    operatorHost: settings.MUSTER_OPERATOR_HOST,
    operatorToken: settings.MUSTER_OPERATOR_TOKEN,
    tracesUrl: settings.MUSTER_TRACES_URL,
    tracesHeaders: settings.MUSTER_TRACES_HEADERS,
    tracesPercent: settings.MUSTER_TRACES_PERCENT,
    publicUrl,
    hosts: settings.MUSTER_HOSTS,
    dataDir: resolve(settings.MUSTER_DATA_DIR),
    databaseUrl: settings.MUSTER_DATABASE_URL,
    databaseDirectUrl: settings.MUSTER_DATABASE_DIRECT_URL,
    natsUrls: settings.MUSTER_NATS_URL,
    bus: settings.MUSTER_BUS,
    nodeName: settings.MUSTER_NODE_NAME,
    nodePort: settings.MUSTER_NODE_PORT,
    nodeHost: settings.MUSTER_NODE_HOST,
    nodeUrl: settings.MUSTER_NODE_URL,
    allowPlaintextNodes: settings.MUSTER_ALLOW_PLAINTEXT_NODES,
    drainSecs: settings.MUSTER_DRAIN_SECS,
    rebalance: settings.MUSTER_REBALANCE,
    trustedProxies: settings.MUSTER_TRUSTED_PROXIES,
    proxySecret: settings.MUSTER_PROXY_SECRET,
    // Browsers resolve every name below `localhost` to their own machine, so a local hub needs no DNS entries for device pages.
    proxyDomain: settings.MUSTER_PROXY_DOMAIN ?? (isLoopback(publicUrl) ? 'localhost' : undefined),
    proxySilenceSecs: settings.MUSTER_PROXY_SILENCE_SECS,
    allowPlaintextDevices: settings.MUSTER_ALLOW_PLAINTEXT_DEVICES,
    diskLowBytes: settings.MUSTER_DISK_LOW_BYTES,
    eventRetentionDays: settings.MUSTER_EVENT_RETENTION_DAYS,
    auditRetentionDays: settings.MUSTER_AUDIT_RETENTION_DAYS,
    backupDir: resolve(settings.MUSTER_BACKUP_DIR ?? join(settings.MUSTER_DATA_DIR, 'backups')),
    backupKeep: settings.MUSTER_BACKUP_KEEP,
    backupToS3: settings.MUSTER_BACKUP_S3,
    instanceKey: settings.MUSTER_INSTANCE_KEY,
    previousInstanceKey: settings.MUSTER_INSTANCE_KEY_PREVIOUS,
    s3: attempt(() => s3Settings(settings)),
    outboundAllow: networksFor(settings.MUSTER_OUTBOUND_ALLOW, 'storage'),
    webhooksAllow: networksFor(settings.MUSTER_OUTBOUND_ALLOW, 'webhooks'),
    otlpAllow: networksFor(settings.MUSTER_OUTBOUND_ALLOW, 'otlp'),
    outboundDeny: settings.MUSTER_OUTBOUND_DENY,
    signup: settings.MUSTER_SIGNUP,
    smtpUrl: settings.MUSTER_SMTP_URL,
    mailFrom: settings.MUSTER_MAIL_FROM,
    logLevel: settings.MUSTER_LOG_LEVEL,
    limits: Object.fromEntries(
      limitNames().map(name => [name, (settings as Record<string, unknown>)[settingOf(name)]]),
    ) as LimitValues,
    console: {
      ...attempt(() => readConsoleConfig(settings.MUSTER_CONFIG_JSON)),
      ...(settings.MUSTER_INSTANCE_NAME && { instanceName: settings.MUSTER_INSTANCE_NAME }),
      ...(settings.MUSTER_TERMS_URL && { termsUrl: settings.MUSTER_TERMS_URL }),
      ...(settings.MUSTER_PRIVACY_URL && { privacyUrl: settings.MUSTER_PRIVACY_URL }),
    },
  }
}

/** Environment variables that begin with `MUSTER_` and are not settings. The hub logs them at its start, as likely typing mistakes. */
// biome-ignore lint/style/noProcessEnv: only this file reads settings from the environment
export function unknownSettings(env: Record<string, string | undefined> = process.env): string[] {
  return sourcesOf(env).unknown
}

/** Warnings about retired settings that are set, without a full stop. */
// biome-ignore lint/style/noProcessEnv: only this file reads settings from the environment
export function retiredSettings(env: Record<string, string | undefined> = process.env): string[] {
  return [...sourcesOf(env).retired].map(([name, advice]) => `${name} is retired and ignored: ${advice}`)
}

/**
 * Describes all settings as lines of a configuration file, each with a comment that names where its value comes from. Secrets are only
 * named. Throws `ConfigError` for settings with which the hub does not start.
 */
export function describeSettings(env: Record<string, string | undefined>): string {
  loadConfig(env)
  const { values } = sourcesOf(env)
  const texts = [...values].map(([name, { text }]) => [name, text])
  const settings: Record<string, unknown> = allSettings().parse(Object.fromEntries(texts))
  return Object.keys(allSettings().shape)
    .map(name => {
      const [key, value, from = 'default'] = [keyOf(name), settings[name], values.get(name)?.from]
      if (value === undefined) return `# ${key} is not set\n`
      if (isSecret(name)) return `# ${key} is set and not shown (${from})\n`
      return `${stringify({ [key]: value }).trimEnd()}  # ${from}\n`
    })
    .join('')
}

function sourcesOf(env: Record<string, string | undefined>): SettingSources {
  return readSources(env, { names: Object.keys(allSettings().shape), secrets: SECRETS, retired: RETIRED })
}

function isSecret(name: string): boolean {
  return SECRETS.some(secret => secret === name)
}

/**
 * Warnings about valid settings: a `MUSTER_PROXY_DOMAIN` on the same site as the hub. Device pages could then set cookies for the
 * hub's host, and browsers would send the hub's `SameSite` cookies with requests from device pages.
 */
export function settingWarnings({ proxyDomain, publicUrl, hosts }: Config): string[] {
  if (proxyDomain === undefined || proxyDomain === 'localhost') return []
  return [new URL(publicUrl).hostname, ...hosts]
    .filter(host => siteOf(host) === siteOf(proxyDomain))
    .map(
      host =>
        `MUSTER_PROXY_DOMAIN: found ${proxyDomain}, on the same site as ${host}; a registrable domain of its own keeps cookies of device pages apart from the hub's`,
    )
}

function requireProxySecret(settings: z.output<typeof Settings>): void {
  if (settings.MUSTER_TRUSTED_PROXIES.length > 0 && settings.MUSTER_PROXY_SECRET === undefined)
    throw new ConfigError(
      'MUSTER_PROXY_SECRET: found nothing, expected a secret because MUSTER_TRUSTED_PROXIES is set.',
    )
}

function requireSharedDatabase(
  settings: z.output<typeof Settings>,
  because: 'MUSTER_DATABASE_DIRECT_URL' | 'MUSTER_NATS_URL' | 'MUSTER_BUS',
): void {
  if (settings[because] !== undefined && settings.MUSTER_DATABASE_URL === undefined)
    throw new ConfigError(
      `MUSTER_DATABASE_URL: found nothing, expected a database that all nodes use because ${because} is set.`,
    )
}

function requireNats({ MUSTER_BUS: bus, MUSTER_NATS_URL: urls }: z.output<typeof Settings>): void {
  if (urls === undefined && (bus === 'nats' || bus === 'both'))
    throw new ConfigError(
      `MUSTER_NATS_URL: found nothing, expected the NATS servers because MUSTER_BUS is ${bus}.`,
    )
}

function requireBackupStore(settings: z.output<typeof Settings>): void {
  if (settings.MUSTER_BACKUP_S3 && settings.MUSTER_S3_ENDPOINT === undefined)
    throw new ConfigError(
      'MUSTER_S3_ENDPOINT: found nothing, expected the object storage for backups because MUSTER_BACKUP_S3 is set.',
    )
}

/**
 * Throws `ConfigError` when the domain of device pages is a host name of the hub or a parent domain of such a name. Device pages and the
 * console would otherwise share cookies.
 */
function requireOtherDomain(domain: string | undefined, publicUrl: string, hosts: string[]): void {
  if (domain === undefined || domain === 'localhost') return
  const below = [new URL(publicUrl).hostname, ...hosts].find(
    host => host === domain || host.endsWith(`.${domain}`),
  )
  if (below !== undefined)
    throw new ConfigError(
      `MUSTER_PROXY_DOMAIN: found ${domain}, expected a domain that is neither the hub's own name (${below}) nor a parent of it.`,
    )
}

/** Normalizes a host name or an address to its form in a URL; undefined for other text. */
function hostNameOf(name: string): string | undefined {
  const text = isIPv6(name) ? `[${name}]` : name
  if (!/^[a-z0-9._-]+$|^\[[0-9a-f:.]+\]$/i.test(text)) return undefined
  return URL.parse(`http://${text}`)?.hostname
}

/**
 * Registrable domain of a host: two labels, or three below second-level domains like `co.uk`. Only a warning uses it, so a
 * dependency on the public suffix list is not worthwhile.
 */
function siteOf(host: string): string {
  if (isIP(host.replace(/^\[|\]$/g, '')) !== 0) return host
  const labels = host.split('.')
  const isBelowSecondLevel = /^(ac|co|com|edu|gov|net|org)\.[a-z]{2}$/.test(labels.slice(-2).join('.'))
  return labels.slice(isBelowSecondLevel ? -3 : -2).join('.')
}

/** Names of the HTML elements in the banner that the console does not show. The hub warns about them at its start. */
export function unshownBannerTags({ console: { banner } }: Pick<Config, 'console'>): string[] {
  const tags = [...(banner?.text ?? '').matchAll(/<([a-z][^\s/>]*)/gi)].map(([, tag]) => tag!.toLowerCase())
  return [...new Set(tags)].filter(tag => !BANNER_TAGS.some(shown => shown === tag))
}

/** True for a URL of scheme, host and port only. */
function isBare(url: URL): boolean {
  return url.href === `${url.origin}/`
}

/** Throws `ConfigError` unless an option of a command has a URL as `MUSTER_DATABASE_URL` has it. The URL may hold a password, so it is not shown. */
export function requireDatabaseUrl(option: string, text: string): void {
  const { error } = DatabaseUrl.safeParse(text)
  if (error) throw new ConfigError(`${option}: found another text, expected ${error.issues[0]!.message}.`)
}

/** True for a postgresql:// URL with several hosts, before its path or in its `host` parameter. */
function hasSeveralHosts(text: string): boolean {
  const [, authority = '', query = ''] = /^\w+:\/\/([^/?#]*)[^?#]*\??([^#]*)/.exec(text) ?? []
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  return host.includes(',') || (new URLSearchParams(query).get('host') ?? '').includes(',')
}

function isNatsUrl(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null && /^(nats|tls):$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname)
  )
}

/** Parses headers in the form of `OTEL_EXPORTER_OTLP_HEADERS`, with percent-encoded values; undefined for other text. */
function headersOf(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const [, name, encoded] = /^\s*([\w-]+)\s*=(.*)$/.exec(pair) ?? []
    if (name === undefined || /%(?![2-7][0-9a-f])/i.test(encoded!)) return undefined
    const value = decodeURIComponent(encoded!).trim()
    if (!/^[ -~]+$/.test(value)) return undefined
    headers[name] = value
  }
  return headers
}

function hasPolicyHost(text: string): boolean {
  return POLICY_HOST.test(URL.parse(text)?.host ?? '')
}

function tlsFiles({
  MUSTER_TLS_CERT: cert,
  MUSTER_TLS_KEY: key,
  MUSTER_TLS_CBC: allowsCbc,
  MUSTER_TLS_KEY_EXCHANGE: keyExchange,
}: z.output<typeof Settings>): TlsFiles | undefined {
  if (cert !== undefined && key !== undefined)
    return {
      certPath: resolve(cert),
      keyPath: resolve(key),
      ...(!allowsCbc && { refusesCbc: true }),
      ...(keyExchange === 'classic' && { isClassicExchange: true }),
    }
  if (cert === undefined && key === undefined) return undefined
  const [missing, present] = cert === undefined ? ['CERT', 'KEY'] : ['KEY', 'CERT']
  throw new ConfigError(
    `MUSTER_TLS_${missing}: found nothing, expected a file because MUSTER_TLS_${present} is set.`,
  )
}

/** Throws `ConfigError` when a setting of the links between nodes requires another setting that is missing. */
function requireNodeUrl({
  MUSTER_DATABASE_URL: databaseUrl,
  MUSTER_NODE_PORT: nodePort,
  MUSTER_NODE_HOST: nodeHost,
  MUSTER_NODE_URL: nodeUrl,
  MUSTER_ALLOW_PLAINTEXT_NODES: allowPlaintextNodes,
}: z.output<typeof Settings>): void {
  const needs = (setting: string, expected: string, because: string): ConfigError =>
    new ConfigError(`${setting}: found nothing, expected ${expected} because ${because} is set.`)
  if (nodePort !== undefined && databaseUrl === undefined)
    throw needs('MUSTER_DATABASE_URL', 'the database that all nodes share', 'MUSTER_NODE_PORT')
  if (nodePort === undefined && nodeUrl !== undefined)
    throw needs('MUSTER_NODE_PORT', 'a port number', 'MUSTER_NODE_URL')
  if (nodePort !== undefined && nodeUrl === undefined && !isLocalHost(nodeHost))
    throw needs('MUSTER_NODE_URL', 'the address by which other nodes reach this one', 'MUSTER_NODE_HOST')
  if (nodeUrl?.startsWith('http:') && !isLoopback(nodeUrl) && !allowPlaintextNodes)
    throw new ConfigError(
      `MUSTER_NODE_URL: found "${nodeUrl}", expected https, an address of this machine, or MUSTER_ALLOW_PLAINTEXT_NODES=1.`,
    )
}

/** Throws `ConfigError` if the token of the operator listener would be sent to other machines without TLS. */
function requireOperatorTls({
  MUSTER_OPERATOR_PORT: operatorPort,
  MUSTER_OPERATOR_HOST: operatorHost,
  MUSTER_TLS_CERT: certificate,
}: z.output<typeof Settings>): void {
  if (operatorPort !== undefined && !isLocalHost(operatorHost) && certificate === undefined)
    throw new ConfigError(
      'MUSTER_TLS_CERT: found nothing, expected a file because MUSTER_OPERATOR_HOST is not an address of this machine only.',
    )
}

/** True for the name or address of a listener that only this machine can reach. */
export function isLocalHost(host: string): boolean {
  return isLoopback(`http://${isIPv6(host) ? `[${host}]` : host}`)
}

/** Object storage of the instance; undefined when it is not configured. Throws `ConfigError` when a required setting is missing. */
function s3Settings(settings: z.output<typeof Settings>): S3Settings | undefined {
  const {
    MUSTER_S3_ENDPOINT: endpoint,
    MUSTER_S3_BUCKET: bucket,
    MUSTER_S3_ACCESS_KEY_ID: accessKeyId,
    MUSTER_S3_SECRET_ACCESS_KEY: secretAccessKey,
    MUSTER_S3_REGION: region,
    MUSTER_S3_PREFIX: prefix,
    MUSTER_S3_FORCE_PATH_STYLE: forcePathStyle,
  } = settings
  const needed = {
    ENDPOINT: endpoint,
    BUCKET: bucket,
    ACCESS_KEY_ID: accessKeyId,
    SECRET_ACCESS_KEY: secretAccessKey,
  }
  const present = Object.entries({ ...needed, REGION: region, PREFIX: prefix }).find(([, value]) => value)
  if (!present) return undefined
  const missing = Object.entries(needed).find(([, value]) => !value)
  if (missing)
    throw new ConfigError(
      `MUSTER_S3_${missing[0]}: found nothing, expected a value because MUSTER_S3_${present[0]} is set.`,
    )
  return normalS3Settings({
    endpoint: endpoint!,
    bucket: bucket!,
    region,
    prefix,
    forcePathStyle,
    accessKeyId: accessKeyId!,
    secretAccessKey: secretAccessKey!,
  })
}

function readConsoleConfig(path: string | undefined): z.output<typeof ConsoleConfig> {
  if (path === undefined) return {}
  const file = resolve(path)
  try {
    return ConsoleConfig.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    const problem =
      error instanceof z.ZodError
        ? `${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`
        : error instanceof Error
          ? error.message
          : String(error)
    throw new ConfigError(
      `MUSTER_CONFIG_JSON: found ${file} (${problem.replace(/\s+/g, ' ')}), expected {"banner"?: {"text"}, "scripts"?: [{"src", "attributes"}], "connect"?: [origin]}.`,
    )
  }
}

function found(key: string, value: string): string {
  if (isSecret(key)) return 'a value that is not shown'
  // Credentials in a URL are a secret in any setting. JSON escapes line breaks, so the message stays on one line.
  return JSON.stringify(value.replace(/(?<=:\/\/)[^/?#]*@/, '…@'))
}
