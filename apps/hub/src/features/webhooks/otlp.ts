import { isJsonObject, parseLossless, RawJson } from '@muster/actions/exact-json'
import { VERSION } from '@muster/actions/version'

/** Severity numbers of the log data model of OpenTelemetry. */
const SEVERITY_NUMBERS: Record<string, number> = {
  Trace: 1,
  Debug: 5,
  Info: 9,
  Warning: 13,
  Error: 17,
  Critical: 21,
}
/** Largest time of a log record, an unsigned integer of 64 bits, in microseconds. */
const MAX_MICROS = 2n ** 64n / 1_000n
const [MIN_INT, MAX_INT] = [-(2n ** 63n), 2n ** 63n - 1n]

/** A value of a log record in the JSON encoding of OTLP. Integers of 64 bits are texts. An empty object is null. */
type AnyValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number }
  | { arrayValue: { values: AnyValue[] } }
  | { kvlistValue: { values: KeyValue[] } }
  | Record<never, never>
type KeyValue = { key: string; value: AnyValue }

type LogRecord = {
  timeUnixNano: string
  observedTimeUnixNano: string
  severityNumber: number
  severityText: string
  body: AnyValue
  attributes: KeyValue[]
}
/** Log records of a resource, as a request of OTLP/HTTP has them. */
export type ResourceLogs = {
  resource: { attributes: KeyValue[] }
  scopeLogs: { scope: { name: string; version: string }; logRecords: LogRecord[] }[]
}

/** A device whose events are exported, with its project. */
export type Source = {
  organizationId: string
  projectId: string
  projectName: string
  deviceId: string
  deviceName: string | null
  hostname: string | null
}

/** An event as it is read for an export. `body` and `attributes` are JSON texts, times are microseconds since 1970. */
export type ExportedEvent = {
  eventId: string
  severity: string
  category: string | null
  body: string
  attributes: string
  emittedMicros: string
  receivedMicros: string
}

/**
 * Address for log records, as the specification of OTLP makes it of a base address: `/v1/logs` is appended. An address that ends so already is
 * that of a collector for logs alone.
 */
export function logsUrl(endpoint: string): URL {
  const url = new URL(endpoint)
  if (!url.pathname.endsWith('/v1/logs')) url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/logs`
  return url
}

/** Log records of the events of a device. The attributes of the resource follow the semantic conventions of OpenTelemetry where these have a name. */
export function resourceLogs(source: Source, events: readonly ExportedEvent[]): ResourceLogs {
  return {
    resource: {
      attributes: texts({
        'service.name': source.projectName,
        'service.instance.id': source.deviceId,
        'device.id': source.deviceId,
        'host.name': source.hostname,
        'muster.organization.id': source.organizationId,
        'muster.project.id': source.projectId,
        'muster.project.name': source.projectName,
        'muster.device.id': source.deviceId,
        'muster.device.name': source.deviceName,
      }),
    },
    scopeLogs: [{ scope: { name: 'muster', version: VERSION }, logRecords: events.map(logRecord) }],
  }
}

/** Log record with which a person tests an export. */
export function testLogs(title: string, ids: Record<string, string>, at: Date): ResourceLogs {
  const micros = String(at.getTime() * 1_000)
  return {
    resource: { attributes: texts({ 'service.name': 'muster' }) },
    scopeLogs: [
      {
        scope: { name: 'muster', version: VERSION },
        logRecords: [
          {
            timeUnixNano: nanos(micros),
            observedTimeUnixNano: nanos(micros),
            severityNumber: SEVERITY_NUMBERS.Info!,
            severityText: 'Info',
            body: { stringValue: title },
            attributes: texts(ids),
          },
        ],
      },
    ],
  }
}

function logRecord(event: ExportedEvent): LogRecord {
  const attributes = parseLossless(event.attributes)
  return {
    timeUnixNano: nanos(event.emittedMicros),
    observedTimeUnixNano: nanos(event.receivedMicros),
    severityNumber: SEVERITY_NUMBERS[event.severity] ?? 0,
    severityText: event.severity,
    body: anyValue(parseLossless(event.body)),
    attributes: [
      // Keys of attributes are unique, so those of the hub replace those of the device.
      ...keyValues(isJsonObject(attributes) ? attributes : {}).filter(({ key }) => !OWN_KEYS.has(key)),
      ...texts({ [EVENT_ID]: event.eventId, [CATEGORY]: event.category }),
    ],
  }
}

const EVENT_ID = 'muster.event.id'
const CATEGORY = 'muster.event.category'
const OWN_KEYS = new Set([EVENT_ID, CATEGORY])

/** Nanoseconds of a time. A time before 1970 or after 2554, by a wrong clock, is not known in OTLP: 0. */
function nanos(micros: string): string {
  const value = BigInt(micros)
  return value < 0n || value >= MAX_MICROS ? '0' : String(value * 1_000n)
}

function texts(values: Record<string, string | null>): KeyValue[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: { stringValue: value } }],
  )
}

function keyValues(values: Record<string, unknown>): KeyValue[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }))
}

/** A JSON value. Numbers that neither an integer of 64 bits nor a double holds are texts. */
function anyValue(value: unknown): AnyValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number' || value instanceof RawJson) return numberValue(String(value))
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  return isJsonObject(value) ? { kvlistValue: { values: keyValues(value) } } : {}
}

function numberValue(text: string): AnyValue {
  if (/^-?\d+$/.test(text)) {
    const integer = BigInt(text)
    if (integer >= MIN_INT && integer <= MAX_INT) return { intValue: String(integer) }
  }
  const double = Number(text)
  return Number.isFinite(double) && !/^-?\d{17,}$/.test(text)
    ? { doubleValue: double }
    : { stringValue: text }
}

/** Number of log records that a collector has rejected of a request that it has taken otherwise (`partialSuccess`). */
export function rejectedCount(answer: string): number {
  // The kept beginning of an answer may end in the message behind the number.
  const [, count] = /"rejectedLogRecords"\s*:\s*"?(\d{1,9})\b/.exec(answer) ?? []
  return Number(count ?? 0)
}
