import type { ActionOutput } from '@muster/actions/client'
import { counted, howOften } from '../../../lib/app/format.ts'
import { dayAndMonth, hourAndMinute } from '../../../lib/app/local-time.ts'
import { inWords } from '../../../lib/app/relative-time.ts'
import { hasFailed } from '../has-failed.ts'
import { cut } from './cut.ts'
import { HEALTH, OTA_STATUS } from './property-names.ts'
import { healthOf, type Properties, readOtaStatus } from './well-known.ts'

type Details = Pick<
  ActionOutput<'devices_GetDetails'>,
  'isConnected' | 'lastRefusal' | 'refusals' | 'certificates' | 'sharedIdentity' | 'certificateEndsAt'
>
type DeviceEvent = ActionOutput<'devices_QueryEvents'>['events'][number]

type Certificate = Details['certificates'][number]

/** Something that is wrong with a device. */
export type Problem = {
  kind: 'refused' | 'identity' | 'update' | 'health' | 'certificate' | 'expiry' | 'clock' | 'offline'
  tone: 'bad' | 'warn'
  /** The problem as a sentence without a period: "Update to 2.23.0 failed 6 times: no space left on device". */
  sentence: string
  /** Time of the last report of the problem. */
  lastAt: string
  /** Time when the problem began; absent if it is not known, or if `property` tells it. */
  firstAt?: string | undefined
  /** Address of the last refused connection. */
  address?: string | undefined
  /** Advice on the problem, as sentences. */
  advice?: string
  /** Other devices with the same certificate, and the number of all of them. */
  sharedWith?: { devices: NonNullable<Certificate['sharedWith']>; count: number }
  /** Property whose past values show when the problem began; absent for connections. */
  property?: string
  /** The failed update as the device reports it, with texts of any length. */
  update?: {
    currentVersion: string | undefined
    targetVersion: string | undefined
    error: string | undefined
  }
}

/**
 * The problems of a device, the gravest first: connection refused, identity shared with another machine, update failed, health error,
 * health degraded, certificate shared with another device, certificate that ends soon, wrong clock. `newest` is the newest event. Texts that the device reports are part of the sentences, each truncated to 300 characters.
 */
export function problemsOf(
  // A node of an older release, in a rolling upgrade, answers without refusals.
  { isConnected, lastRefusal, refusals = [], certificates, sharedIdentity, certificateEndsAt }: Details,
  properties: Properties,
  newest?: Pick<DeviceEvent, 'clockErrorSecs' | 'receivedAt'>,
  nowMs = Date.now(),
): Problem[] {
  // `PendingBox` shows a pending certificate, which explains refused connections, so they are not reported as a problem as well.
  const isPending = certificates.some(({ status }) => status === 'Pending')
  return [
    ...(lastRefusal && !isConnected && !isPending ? [refused(lastRefusal, refusals[0]?.address)] : []),
    ...(sharedIdentity ? [shared(sharedIdentity)] : []),
    ...failedUpdate(properties),
    ...badHealth(properties),
    ...sharedCertificate(certificates),
    ...(certificateEndsAt === undefined ? [] : [endingCertificate(certificateEndsAt, nowMs)]),
    ...(newest?.clockErrorSecs === undefined ? [] : [wrongClock(newest.clockErrorSecs, newest.receivedAt)]),
  ]
}

function refused(
  { reason, count, at, since }: NonNullable<Details['lastRefusal']>,
  address: string | undefined,
): Problem {
  const sentence = `Refused ${howOften(count)}: ${cut(reason)}`
  return { kind: 'refused', tone: 'bad', sentence, firstAt: since, lastAt: at, address }
}

/** Number from which on the hub does not count takeovers. */
const MAX_TAKEOVERS = 200

function shared({
  takeovers,
  addresses,
  isOneMachine,
  firstAt,
  lastAt,
}: NonNullable<Details['sharedIdentity']>): Problem {
  const who = isOneMachine ? 'Two agents on one machine' : 'Two machines'
  const count =
    takeovers >= MAX_TAKEOVERS ? `${MAX_TAKEOVERS} or more takeovers` : counted(takeovers, 'takeover')
  const from = addresses.length === 0 ? '' : `, from ${addresses.join(' and ')}`
  return {
    kind: 'identity',
    tone: 'bad',
    sentence: `${who} share this identity: ${count} in 10 minutes${from}`,
    firstAt,
    lastAt,
    advice: isOneMachine
      ? 'Each takes the connection from the other. Stop one of the two.'
      : 'Each takes the connection from the other. To make one of them a device of its own, stop its agent, delete its key, its certificate and the data that its agent keeps, and start it again.',
  }
}

function sharedCertificate(certificates: readonly Certificate[]): Problem[] {
  const certificate = certificates.find(({ status, sharedWith }) => status === 'Active' && sharedWith)
  if (!certificate?.sharedWith) return []
  const { sharedWith: devices, sharedCount: count = devices.length, firstSeen } = certificate
  return [
    {
      kind: 'certificate',
      tone: 'warn',
      sentence: `${otherDevices(count)} the certificate of this one`,
      lastAt: firstSeen,
      sharedWith: { devices, count },
      advice: 'Anyone with its key can act as each of them. Give each device a certificate of its own.',
    },
  ]
}

/** Number from which on the hub does not count the devices with a certificate. */
export const MAX_SHARED = 100

function otherDevices(count: number): string {
  if (count >= MAX_SHARED) return `${MAX_SHARED} or more other devices have`
  return count === 1 ? 'Another device has' : `${counted(count, 'other device')} have`
}

const DAY_SECS = 86_400

function endingCertificate(endsAt: string, nowMs: number): Problem {
  const leftSecs = (Date.parse(endsAt) - nowMs) / 1000
  const isOver = leftSecs <= 0
  return {
    kind: 'expiry',
    tone: isOver ? 'bad' : 'warn',
    sentence: isOver
      ? `Certificate expired ${inWords(-leftSecs)} ago`
      : `Certificate ends in ${leftSecs < DAY_SECS ? inWords(leftSecs) : counted(Math.floor(leftSecs / DAY_SECS), 'day')}`,
    lastAt: endsAt,
    advice: isOver
      ? 'The hub refuses the device until it shows another one, which you then accept here.'
      : 'From then on the hub refuses the device. Muster’s agent announces a renewed certificate before it uses it, if the settings of the project allow that. Other agents connect with it, and you accept it here.',
  }
}

function wrongClock(errorSecs: number, receivedAt: string): Problem {
  return {
    kind: 'clock',
    tone: 'warn',
    sentence: `Device clock wrong by ${inWords(Math.abs(errorSecs))}`,
    lastAt: receivedAt,
    advice: 'Its events are listed by the time at which the hub received them.',
  }
}

function failedUpdate(properties: Properties): Problem[] {
  const status = readOtaStatus(properties)
  if (!status || status === 'unreadable' || !hasFailed(status)) return []
  const { currentVersion, targetVersion, failureCount, lastError: error } = status
  const what = targetVersion === undefined ? 'Update failed' : `Update to ${cut(targetVersion)} failed`
  const sentence = `${what} ${howOften(Math.max(1, failureCount))}${error === undefined ? '' : `: ${cut(error)}`}`
  const { lastUpdated } = properties[OTA_STATUS]!
  const update = { currentVersion, targetVersion, error }
  return [{ kind: 'update', tone: 'bad', sentence, lastAt: lastUpdated, property: OTA_STATUS, update }]
}

function badHealth(properties: Properties): Problem[] {
  const property = Object.hasOwn(properties, HEALTH) ? properties[HEALTH] : undefined
  const health = healthOf(property?.value)
  if (!property || (health !== 'error' && health !== 'degraded')) return []
  const tone = health === 'error' ? 'bad' : 'warn'
  return [
    { kind: 'health', tone, sentence: `Health: ${health}`, lastAt: property.lastUpdated, property: HEALTH },
  ]
}

/** Minimum time without a connection, in milliseconds, that counts as a problem. */
export const SHORTEST_OFFLINE_MS = 10 * 60_000
/** Period before the end of the last connection, 30 days in milliseconds. Interruptions as long as in this period count as usual. */
const USUAL_MS = 30 * 24 * 3_600_000

type Connection = Pick<
  ActionOutput<'devices_QueryConnections'>['connections'][number],
  'connectedAt' | 'endedAt' | 'endReason'
>

/** Why the last connection ended, as the end of the sentence. */
const END: Partial<Record<string, string>> = {
  Disconnected: ': its connection was closed or broke',
  NodeCrashed: ': the node that it was connected to failed',
  ServerShutdown: ': the node that it was connected to was stopped or handed it over',
}

/**
 * Reports a device that has been disconnected for at least 10 minutes and longer than in any interruption of the 30 days before.
 * `connections` are newest first.
 */
export function offlineProblem(connections: readonly Connection[], nowMs: number): Problem[] {
  const ends = connections.map(({ endedAt }) => (endedAt === undefined ? nowMs : Date.parse(endedAt)))
  const lastMs = Math.max(...ends)
  if (connections.length === 0 || nowMs - lastMs < SHORTEST_OFFLINE_MS) return []
  let longestMs = 0
  let begunMs = Number.POSITIVE_INFINITY
  for (const [index, { connectedAt }] of connections.entries()) {
    if (Number.isFinite(begunMs) && begunMs > lastMs - USUAL_MS)
      longestMs = Math.max(longestMs, begunMs - ends[index]!)
    begunMs = Math.min(begunMs, Date.parse(connectedAt))
  }
  if (nowMs - lastMs <= longestMs) return []
  const reason = END[connections[ends.indexOf(lastMs)]?.endReason ?? ''] ?? ''
  const sentence = `Not connected since ${dayAndMonth(lastMs)}, ${hourAndMinute(lastMs)}${reason}`
  const lastAt = new Date(lastMs).toISOString()
  return [{ kind: 'offline', tone: 'warn', sentence, firstAt: lastAt, lastAt }]
}
