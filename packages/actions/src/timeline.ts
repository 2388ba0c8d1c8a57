import { z } from 'zod'
import { StoredActor } from './accounts.ts'
import { listOutput, optional, optionalText } from './define.ts'
import {
  AuditLogEventId,
  ClusterNodeId,
  DeviceConnectionId,
  DeviceEventId,
  DeviceId,
  PackageId,
  PackageVersionId,
  RepositoryId,
} from './ids.ts'
import { MAX_CURSOR_LENGTH, MAX_FILTER_LENGTH, MAX_TIMELINE_PAGE } from './limits.ts'
import { openWord, Timestamp, text, U32, WithinSecs } from './scalars.ts'

/** Severities of events, from least to most severe (docs/specification.md 4). */
export const EventSeverity = z.enum(['Trace', 'Debug', 'Info', 'Warning', 'Error', 'Critical'])

/** Error of the clock of a device when it emitted an event (docs/api.md 2.6). */
export const ClockErrorSecs = z
  .int()
  .optional()
  .describe(
    'Seconds by which the clock of the device was ahead, negative if behind; only where `emittedAt` is implausible. Lists then order the event by `receivedAt`.',
  )

/** Reason why a device's connection ended (docs/api.md Appendix A). */
export const ConnectionEndReason = z.enum(['Unknown', 'Disconnected', 'NodeCrashed', 'ServerShutdown'])
export type ConnectionEndReason = z.output<typeof ConnectionEndReason>

/**
 * Kinds of entries in a timeline. `property` is a change by the device itself, its name included; a change by a person is of the kind
 * `person`. Each entry has one kind, so that the counts add up.
 */
export const TimelineKind = z.enum(['event', 'connection', 'property', 'certificate', 'person'])
export type TimelineKind = z.output<typeof TimelineKind>

const ActorFields = {
  actor: StoredActor,
  actorName: z.string().optional().describe('Name of a person, device or node, as it is now.'),
  tokenName: z.string().optional().describe('Name of the user token that the person used, while it exists.'),
}

const PropertyState = z.object({
  value: z.unknown().optional().describe('Absent where the property was removed.'),
  isRemoved: z.boolean(),
  valueBytes: z.int().describe('Size of the JSON text of the value, 0 for a removed property.'),
  isCut: z
    .boolean()
    .optional()
    .describe('Present and true where `value` is a string with the beginning of a large JSON text.'),
  changedAt: Timestamp,
})

const ENTRY = {
  entryId: z.string().describe('Identifies the entry within the timeline of its device.'),
  kind: TimelineKind,
  at: Timestamp.describe(
    'Time of an event by the clock of the device, or of its receipt where `clockErrorSecs` is present; of all others by the clock of the hub.',
  ),
  severity: EventSeverity,
  isConnected: z
    .boolean()
    .optional()
    .describe('Whether the device was connected then; absent before its first record of a connection.'),
}

const TimelineEntry = z.discriminatedUnion('type', [
  z.object({
    ...ENTRY,
    type: z.literal('event'),
    eventId: DeviceEventId,
    category: z.string().optional(),
    body: z.unknown(),
    attributes: z.unknown(),
    emittedAt: Timestamp.optional().describe('By the clock of the device; absent from older nodes.'),
    receivedAt: Timestamp,
    clockErrorSecs: ClockErrorSecs,
  }),
  z.object({
    ...ENTRY,
    type: z.literal('connected'),
    connectionId: DeviceConnectionId,
    nodeId: ClusterNodeId,
    nodeName: z.string().optional(),
    offlineSecs: U32.optional().describe(
      'Time without a connection before this one, 0 if it replaced an open one; absent for the first record.',
    ),
  }),
  z.object({
    ...ENTRY,
    type: z.literal('disconnected'),
    connectionId: DeviceConnectionId,
    nodeId: ClusterNodeId,
    nodeName: z.string().optional(),
    endReason: openWord(ConnectionEndReason),
    connectedSecs: U32,
  }),
  z.object({
    ...ENTRY,
    type: z.literal('property'),
    name: z.string(),
    version: z.int(),
    ...ActorFields,
    now: PropertyState,
    before: PropertyState.optional().describe('State before the change; absent where the history has none.'),
  }),
  z.object({
    ...ENTRY,
    type: z.literal('audit'),
    eventId: AuditLogEventId,
    event: z.string().describe('Name of the audit event (docs/api.md 5).'),
    data: z.record(z.string(), z.unknown()),
    ...ActorFields,
  }),
  z.object({
    ...ENTRY,
    type: z.literal('tag'),
    path: z.string().describe('Path of the tag that the device followed then.'),
    details: z
      .object({
        repositoryId: RepositoryId,
        packageId: PackageId,
        from: z.object({ versionId: PackageVersionId, name: z.string().optional() }).optional(),
        to: z.object({ versionId: PackageVersionId, name: z.string().optional() }).optional(),
        ...ActorFields,
      })
      .optional()
      .describe('Only for callers who may read the log of the repository.'),
  }),
])

/** Input of `devices_QueryTimeline`. */
export const TimelineInput = z.object({
  deviceId: DeviceId,
  limit: optional(z.int().min(1).max(MAX_TIMELINE_PAGE)).describe('50 when missing.'),
  cursor: optionalText(text(MAX_CURSOR_LENGTH)).describe('`nextCursor` of the previous page.'),
  withCounts: optional(z.boolean()).describe(
    'Reads on after the page to count what the filter finds of each kind.',
  ),
  filter: optional(
    z.object({
      kinds: optional(z.array(TimelineKind).max(5)),
      minSeverity: optional(EventSeverity).describe('Least severity.'),
      category: optionalText(text(128)).describe(
        'Category of events. Entries that are no events are left out.',
      ),
      text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of what an entry contains, in any case.'),
      since: optional(Timestamp).describe('Not older than this.'),
      until: optional(Timestamp).describe('Older than this.'),
      withinSecs: WithinSecs,
    }),
  ),
})

/** Output of `devices_QueryTimeline`. */
export const TimelineOutput = z.object({
  entries: z.array(TimelineEntry),
  nextCursor: listOutput.nextCursor,
  searchedBackTo: Timestamp.optional().describe(
    'Time back to which the call has read, if its 20,000 rows or its 1 s ended it. Counts are of what it read.',
  ),
  counts: z
    .object({ event: z.int(), connection: z.int(), property: z.int(), certificate: z.int(), person: z.int() })
    .optional()
    .describe('Entries by kind that match the filter without `kinds`; with `withCounts` only.'),
})
