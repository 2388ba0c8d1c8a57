import { z } from 'zod'
import type { Received } from './receiver.ts'

// The request of OTLP/HTTP for logs in its JSON encoding, as `opentelemetry/proto/logs/v1/logs.proto` 1.x defines it. Integers of 64 bits are
// texts, and the schemas are strict, so that a wrong name of a field is found.

const Uint64 = z.string().regex(/^(0|[1-9]\d{0,19})$/)
const AnyValue: z.ZodType = z.lazy(() =>
  z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ boolValue: z.boolean() }),
    z.strictObject({ intValue: z.string().regex(/^-?\d{1,19}$/) }),
    z.strictObject({ doubleValue: z.number() }),
    z.strictObject({ arrayValue: z.strictObject({ values: z.array(AnyValue) }) }),
    z.strictObject({ kvlistValue: z.strictObject({ values: z.array(KeyValue) }) }),
    z.strictObject({}),
  ]),
)
const KeyValue = z.strictObject({ key: z.string().min(1), value: AnyValue })
const LogsRequest = z.strictObject({
  resourceLogs: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: z.array(KeyValue) }),
      scopeLogs: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          logRecords: z.array(
            z.strictObject({
              timeUnixNano: Uint64,
              observedTimeUnixNano: Uint64,
              severityNumber: z.int().min(1).max(24),
              severityText: z.string(),
              body: AnyValue,
              attributes: z.array(KeyValue),
            }),
          ),
        }),
      ),
    }),
  ),
})

/** A log record as a collector sees it, with its attributes and those of its resource by key. */
export type ReceivedRecord = {
  resource: Record<string, unknown>
  attributes: Record<string, unknown>
  body: unknown
  severityNumber: number
  severityText: string
  timeUnixNano: string
  observedTimeUnixNano: string
}

/** Log records of a request. Throws for one that is not OTLP. */
export function recordsOf({ body }: Pick<Received, 'body'>): ReceivedRecord[] {
  return LogsRequest.parse(JSON.parse(body)).resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(record => ({
        ...record,
        resource: byKey(resource.attributes),
        attributes: byKey(record.attributes),
      })),
    ),
  )
}

function byKey(attributes: { key: string; value: unknown }[]): Record<string, unknown> {
  const found = new Map(attributes.map(({ key, value }) => [key, value]))
  if (found.size < attributes.length) throw new Error('an attribute stands twice')
  return Object.fromEntries(
    [...found].map(([key, value]) => [key, (value as { stringValue?: string }).stringValue ?? value]),
  )
}
