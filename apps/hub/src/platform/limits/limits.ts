import { MAX_NEW_DEVICES, MAX_TOKEN_DEVICES } from '@muster/actions'

/** Maximum number of connections in the pool of a node. */
export const POOL_CONNECTIONS = 11

const MIB = 1024 * 1024
const GIB = 1024 * MIB
const TIB = 1024 * GIB

/** Scope of a limit. Each device, organization, person, network address and so on has its own count. */
type LimitScope =
  | 'device'
  | 'token'
  | 'project'
  | 'organization'
  | 'repository'
  | 'package'
  | 'person'
  | 'address'

/** Declaration of a limit. */
export type Limit = {
  scope: LimitScope
  /** Unit of the value, as operators and callers read it. */
  unit: string
  default: number
  /** Largest value that the setting accepts. A larger value would exceed the hub's memory or the database's types. */
  max: number
  /** Description of the count, for the table in docs/operating.md. */
  meaning: string
}

/** Limits that the platform and links of devices keep. Features declare theirs in `feature.ts`. */
const OWN_LIMITS = {
  'person-database-connections': {
    scope: 'person',
    unit: 'database connections',
    default: 3,
    max: POOL_CONNECTIONS,
    meaning:
      'Connections to the database that all calls of a person hold at once on one node, of the 11 in its pool. Further statements wait for up to 10 s, then their calls are refused. All callers who wait for a lock hold two connections together.',
  },
  'person-pages': {
    scope: 'person',
    unit: 'pages',
    default: 4,
    max: 1_000_000,
    meaning:
      'Pages of lists that a person reads at once on one node while other people call it too, besides long queries. Further ones wait for up to 10 s, then are refused.',
  },
  'device-database-connections': {
    scope: 'device',
    unit: 'database connections',
    default: 3,
    max: POOL_CONNECTIONS,
    meaning:
      'As `person-database-connections`, of the calls of a device. Properties and events that it sends are written in batches with those of other devices and do not count.',
  },
  'address-database-connections': {
    scope: 'address',
    unit: 'database connections',
    default: 3,
    max: POOL_CONNECTIONS,
    meaning: 'As `person-database-connections`, of calls without credentials from an address.',
  },
  'person-long-queries': {
    scope: 'person',
    unit: 'long queries',
    default: 2,
    max: POOL_CONNECTIONS,
    meaning:
      'Filtered lists, lists without `limit`, pages with properties as columns and previews of bulk actions that a person runs at once on one node; all people together run 4. Further ones wait for up to 10 s, then are refused.',
  },
  'person-brief-queries': {
    scope: 'person',
    unit: 'brief queries',
    default: 1,
    max: POOL_CONNECTIONS,
    meaning:
      'Counts, suggestions, searches and timelines that a person runs at once on one node, each for up to 2 s; all people together run 3. Further ones wait for up to 5 s, then are refused.',
  },
  'device-bytes-per-second': {
    scope: 'device',
    unit: 'bytes a second',
    default: MIB,
    max: GIB,
    meaning:
      'Inputs of actions that a device sends, after a burst of 8 MiB; answers to a faster device are held back, and nothing is refused.',
  },
  'device-property-bytes-per-hour': {
    scope: 'device',
    unit: 'bytes an hour',
    default: 32 * MIB,
    max: TIB,
    meaning:
      'Property values that a device writes, also those that replace others. A pause saves up one hour. 60 values of up to 4 KiB an hour are stored beyond it.',
  },
  'device-event-bytes-per-hour': {
    scope: 'device',
    unit: 'bytes an hour',
    default: 128 * MIB,
    max: TIB,
    meaning:
      'Events that a device sends. A pause saves up one hour. 60 events of up to 4 KiB an hour are stored beyond it.',
  },
  'project-bytes-per-hour': {
    scope: 'project',
    unit: 'bytes an hour',
    default: 32 * GIB,
    max: 1024 * TIB,
    meaning:
      'Property values and events that all devices of a project write; each device may still write 60 of up to 4 KiB an hour.',
  },
  'organization-bytes-per-hour': {
    scope: 'organization',
    unit: 'bytes an hour',
    default: 64 * GIB,
    max: 1024 * TIB,
    meaning: 'As `project-bytes-per-hour`, of all projects of an organization.',
  },
  'device-property-bytes': {
    scope: 'device',
    unit: 'bytes',
    default: 7.5 * MIB,
    max: GIB,
    meaning:
      'Current property values of a device; the default fits into one answer of `devices_QueryProperties`. The last eighth is kept for values of up to 4 KiB.',
  },
  'device-properties': {
    scope: 'device',
    unit: 'properties',
    default: 10_000,
    max: 1_000_000,
    meaning: 'Properties of a device; further names are not stored.',
  },
  'device-history-bytes': {
    scope: 'device',
    unit: 'bytes',
    default: 64 * MIB,
    max: TIB,
    meaning: 'Past property values of a device; the oldest are removed.',
  },
  'device-event-bytes': {
    scope: 'device',
    unit: 'bytes',
    default: GIB,
    max: TIB,
    meaning: 'Stored events of a device; the oldest are removed.',
  },
  'device-input-bytes': {
    scope: 'device',
    unit: 'bytes',
    default: 16 * MIB,
    max: 256 * MIB,
    meaning: 'Memory for inputs over 64 KiB that have arrived in part over the links of a device.',
  },
  'organization-input-bytes': {
    scope: 'organization',
    unit: 'bytes',
    default: 64 * MIB,
    max: 256 * MIB,
    meaning:
      'As `device-input-bytes`, of all devices of an organization; all links and requests together have 256 MiB.',
  },
  'person-input-bytes': {
    scope: 'person',
    unit: 'bytes',
    default: 32 * MIB,
    max: 256 * MIB,
    meaning:
      'As `device-input-bytes`, of the command lines and HTTP requests of a person. A request with `Content-Length` counts whole from its head on.',
  },
  'device-answer-bytes': {
    scope: 'device',
    unit: 'bytes',
    default: 16 * MIB,
    max: 256 * MIB,
    meaning:
      'Memory for answers over 64 KiB to calls of a device that it has not read yet, on one node. Further ones are refused; a caller who has read all of them always gets one.',
  },
  'organization-answer-bytes': {
    scope: 'organization',
    unit: 'bytes',
    default: 64 * MIB,
    max: 256 * MIB,
    meaning:
      'As `device-answer-bytes`, of all devices of an organization; the unread answers of all callers together have 256 MiB.',
  },
  'person-answer-bytes': {
    scope: 'person',
    unit: 'bytes',
    default: 64 * MIB,
    max: 256 * MIB,
    meaning: 'As `device-answer-bytes`, of the command lines and HTTP requests of a person.',
  },
  'address-answer-bytes': {
    scope: 'address',
    unit: 'bytes',
    default: 64 * MIB,
    max: 256 * MIB,
    meaning: 'As `device-answer-bytes`, of calls without credentials from an address.',
  },
  'project-bytes': {
    scope: 'project',
    unit: 'bytes',
    default: 4 * TIB,
    max: 1024 * TIB,
    meaning:
      'Property values, past values and events of all devices of a project, measured every 10 minutes; over it each device may still write 60 values or events of up to 4 KiB an hour.',
  },
  'organization-bytes': {
    scope: 'organization',
    unit: 'bytes',
    default: 8 * TIB,
    max: 1024 * TIB,
    meaning:
      'As `project-bytes`, of all projects of an organization, together with the metadata of packages, versions and files of its repositories; over it no metadata is written.',
  },
  'person-creations': {
    scope: 'person',
    unit: 'creations in 10 min',
    default: 300,
    max: 1_000_000,
    meaning:
      'Organizations, projects, repositories, tokens and invitations that a person creates at this rate.',
  },
  'token-new-devices': {
    scope: 'token',
    unit: 'new devices at once',
    default: 10_000,
    max: MAX_NEW_DEVICES,
    meaning:
      'Budget for devices that a deployment token has not seen before. It refills by `token-new-devices-per-hour`; devices over it are refused before anything is stored, with `Retry-After`. A token may have a budget of its own.',
  },
  'token-new-devices-per-hour': {
    scope: 'token',
    unit: 'new devices an hour',
    default: 600,
    max: MAX_NEW_DEVICES,
    meaning: 'Refill of that budget.',
  },
  'address-new-devices': {
    scope: 'address',
    unit: 'new devices within an hour',
    default: 20_000,
    max: 10_000_000,
    meaning:
      'New devices from one address with any tokens, counted by each node in memory. A token with a larger budget of its own raises it for its devices, since a factory behind NAT has one address.',
  },
  'token-devices': {
    scope: 'token',
    unit: 'devices',
    default: 1_000_000,
    max: MAX_TOKEN_DEVICES,
    meaning:
      'Devices that enrol with one deployment token in all, those counted that were deleted later. A token may have a smaller or larger limit of its own.',
  },
  'project-pending-devices': {
    scope: 'project',
    unit: 'devices with a pending certificate',
    default: 20_000,
    max: 1_000_000,
    meaning:
      'Devices of a project that wait for a person; further ones are refused before anything is stored until some are accepted, rejected or deleted.',
  },
  'device-pending-certificates': {
    scope: 'device',
    unit: 'pending certificates',
    default: 16,
    max: 10_000,
    meaning: 'Certificates of one device that wait for a person; further ones are refused and not stored.',
  },
  'device-unregistered-links': {
    scope: 'device',
    unit: 'unregistered links',
    default: 32,
    max: 1_000_000,
    meaning:
      'Links of one device besides its own connection, on one node: each one-shot command of an agent opens one; further ones are refused.',
  },
  'organization-link-share': {
    scope: 'organization',
    unit: 'percent of the free descriptors',
    default: 50,
    max: 100,
    meaning:
      'Share of the file descriptors free for devices that unregistered links of one organization, and so of one token, may hold on one node. Further links wait for up to 30 s, then are refused.',
  },
  'organization-device-share': {
    scope: 'organization',
    unit: 'percent of the free descriptors',
    default: 90,
    max: 100,
    meaning:
      'Share of the file descriptors free for devices that connected devices of one organization may hold on one node; further ones are refused and try again.',
  },
  'person-links': {
    scope: 'person',
    unit: 'links',
    default: 256,
    max: 1_000_000,
    meaning:
      'Links of command lines of a person, with any tokens, on one node; further ones are refused. A token that was made before this limit is only warned about until the next release.',
  },
  'person-link-share': {
    scope: 'person',
    unit: 'percent of the free descriptors',
    default: 25,
    max: 100,
    meaning:
      'As `organization-link-share`, of the links of command lines of a person; further ones are refused.',
  },
  'person-streams': {
    scope: 'person',
    unit: 'streams',
    default: 20,
    max: 1_000_000,
    meaning:
      'Live streams of a person on one node, one for each browser with a console, and running exports; further ones are refused. Old tokens are treated as by `person-links`.',
  },
  'person-page-requests': {
    scope: 'person',
    unit: 'requests and WebSockets',
    default: 256,
    max: 1_000_000,
    meaning:
      'Unanswered requests and open WebSockets of a person to web pages of devices on one node; further ones are refused.',
  },
  'person-uploads': {
    scope: 'person',
    unit: 'uploads',
    default: 16,
    max: 1_000_000,
    meaning:
      'Uploads of files that a person runs at once on one node, by all URLs that they requested, and checks of uploaded files; all people together run 32. Further ones are refused.',
  },
  'address-connections': {
    scope: 'address',
    unit: 'connections',
    default: 20_000,
    max: 1_000_000,
    meaning:
      'HTTP connections of one address on one node, also idle, unfinished and streaming ones, and links of command lines; at most a quarter of all descriptors. The connections that are idle for longest are closed; if none is idle, requests are refused, except for health checks. This machine, trusted proxies and links of devices do not count. Through a trusted proxy, each open request counts for the address of its client.',
  },
  'address-body-bytes': {
    scope: 'address',
    unit: 'bytes',
    default: 64 * MIB,
    max: 1024 * GIB,
    meaning:
      'Bodies of the unanswered requests of one address on one node, each with up to 64 KiB; further requests with a body are refused. This machine does not count; through a trusted proxy, a request counts for the address of its client.',
  },
  'address-pipelined-requests': {
    scope: 'address',
    unit: 'unanswered requests of a connection',
    default: 8,
    max: 1_000_000,
    meaning:
      'Requests that a client sends over one HTTP connection before the first of them is answered; a connection with more is closed.',
  },
  'device-refused-commands': {
    scope: 'device',
    unit: 'refused commands in 10 min',
    default: 100,
    max: 1_000_000,
    meaning:
      'Commands of a device that are refused with a row in the audit log, on one node; further ones are refused without a row and counted in the report of this limit.',
  },
  'person-refused-commands': {
    scope: 'person',
    unit: 'refused commands in 10 min',
    default: 300,
    max: 1_000_000,
    meaning: 'As `device-refused-commands`, of a person.',
  },
  'address-refused-commands': {
    scope: 'address',
    unit: 'refused commands in 10 min',
    default: 1_000,
    max: 10_000_000,
    meaning:
      'As `device-refused-commands`, of all devices and people behind one address, and of callers without credentials.',
  },
} as const satisfies Record<string, Limit>

/** Limits of features, by their names. Each feature adds its own (`declare module`). */
// biome-ignore lint/suspicious/noEmptyInterface: features add their members
export interface FeatureLimits {}
/** Name of a limit. It appears in the limit's errors, log lines and setting (`settingOf`). */
export type LimitName = keyof typeof OWN_LIMITS | keyof FeatureLimits
/** Values of the limits in force: the defaults, or the values of settings. */
export type LimitValues = Record<LimitName, number>

/** Names of the limits that no feature declares. */
export const ownLimits: readonly string[] = Object.keys(OWN_LIMITS)

const all: Record<string, Limit> = { ...OWN_LIMITS }

/** Adds the limits that a feature declares. */
export function registerLimits(limits: Readonly<Record<string, Limit>>): void {
  Object.assign(all, limits)
}

/** Declaration of a limit. */
export function limitOf(name: LimitName): Limit {
  return all[name]!
}

/** Names of all limits, sorted. */
export function limitNames(): LimitName[] {
  if (Object.keys(all).length === ownLimits.length)
    throw new Error('No limits of features are registered: import features/index.ts first.')
  return Object.keys(all).sort() as LimitName[]
}

/** Environment variable that sets a limit, such as `MUSTER_LIMIT_PERSON_ORGANIZATIONS`. */
export function settingOf(name: LimitName): string {
  return `MUSTER_LIMIT_${name.toUpperCase().replaceAll('-', '_')}`
}

/** Table of limits in docs/operating.md, as Markdown. */
export function limitsMarkdown(): string {
  const rows = limitNames().map(name => {
    const { scope, unit, default: value, meaning } = limitOf(name)
    return `| \`${name}\` | ${scope} | ${value} ${unit} | \`${settingOf(name)}\` | ${meaning} |`
  })
  return ['| limit | counted per | default | setting | meaning |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  )
}
