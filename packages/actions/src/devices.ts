import { z } from 'zod'
import { StoredActor } from './accounts.ts'
import { command, listInput, listOutput, optional, optionalText, query, secret, telemetry } from './define.ts'
import {
  ClusterNodeId,
  DeploymentTokenId,
  DeviceBlockId,
  DeviceCertificateId,
  DeviceConnectionId,
  DeviceEventId,
  DeviceFingerprint,
  DeviceFingerprintId,
  DeviceId,
  ProjectId,
  UserId,
  UserSessionId,
} from './ids.ts'
import { LabelsOutput } from './labels.ts'
import {
  MAX_CERTIFICATE_LENGTH,
  MAX_CURSOR_LENGTH,
  MAX_DEVICE_JWT_LENGTH,
  MAX_EVENTS_PER_CALL,
  MAX_PAGE_SIZE,
  MAX_PROPERTY_VALUE_BYTES,
  MAX_SIGNATURE_LENGTH,
  MAX_TIMELINE_PAGE,
} from './limits.ts'
import { CertificateEndsAt, LimitHit, Refusal } from './projects.ts'
import {
  AnyJson,
  CertificateFingerprint,
  Empty,
  HostName,
  JsonObject,
  Name,
  openWord,
  PropertyName,
  Timestamp,
  text,
  U32,
  U64,
} from './scalars.ts'
import {
  ClockErrorSecs,
  ConnectionEndReason,
  EventSeverity,
  TimelineInput,
  TimelineOutput,
} from './timeline.ts'

/** The person and the session that asked for a deletion or a decision. */
export const AskedBy = z
  .object({ userId: UserId, sessionId: UserSessionId })
  .describe(
    'The person and the session that asked for this, for consoles that send it later. Refused from any other session.',
  )
export type AskedBy = z.infer<typeof AskedBy>

/** States of a device's certificate (docs/specification.md 4). */
export const CertificateStatus = z.enum(['Pending', 'Active', 'Rejected', 'Revoked'])
export type CertificateStatus = z.output<typeof CertificateStatus>

const Certificate = z.object({
  certificateId: DeviceCertificateId,
  status: openWord(CertificateStatus),
  fingerprint: z.string(),
  firstSeen: Timestamp,
  tokenId: DeploymentTokenId.optional().describe(
    'Token of the first sight; absent where it was not recorded.',
  ),
  tokenName: z.string().optional().describe('Name of that token, while the token exists.'),
  remoteAddress: z
    .string()
    .optional()
    .describe('Address of the first sight; absent where it was not recorded.'),
  expiresAt: Timestamp.optional().describe(
    'End of its validity; absent until the device has connected with it since the hub records it.',
  ),
  predecessorId: DeviceCertificateId.optional().describe(
    'Certificate with which the device itself announced this one.',
  ),
  isShared: z.boolean().describe('The same certificate is known on another device of the project.'),
  sharedWith: z
    .array(
      z.object({
        deviceId: DeviceId,
        name: z.string().optional(),
        hostname: z.string().optional(),
        status: openWord(CertificateStatus),
      }),
    )
    .optional()
    .describe(
      'Other devices of the project on which it is neither rejected nor revoked, at most 5. Absent without such a device.',
    ),
  sharedCount: U32.optional().describe(
    'Number of those devices, at most 100 are counted; with `sharedWith`.',
  ),
})

/** PEM text of a certificate. */
const Pem = text(MAX_CERTIFICATE_LENGTH)
/** Signature in base64. */
const Signature = text(MAX_SIGNATURE_LENGTH)

const KeepSuccessors = optional(z.boolean()).describe(
  'Leaves certificates active that the device announced with this one. Otherwise they are revoked with it.',
)

const Connection = z.object({
  connectionId: DeviceConnectionId,
  nodeId: ClusterNodeId,
  nodeName: z.string().optional(),
  connectedAt: Timestamp,
  connectedForSecs: U32,
})

const Property = z.object({
  name: z.string(),
  value: z.unknown(),
  protected: z.boolean(),
  version: z.int(),
  lastUpdated: Timestamp,
})

const EventInput = z.object({
  eventId: DeviceEventId,
  category: optionalText(text(128)),
  severity: EventSeverity,
  body: AnyJson,
  attributes: JsonObject,
  emittedAt: Timestamp,
})

const EventOutput = z.object({
  eventId: DeviceEventId,
  category: z.string().optional(),
  severity: EventSeverity,
  body: z.unknown(),
  attributes: z.unknown(),
  emittedAt: Timestamp,
  receivedAt: Timestamp,
  clockErrorSecs: ClockErrorSecs,
})

/** Actions on devices (docs/api.md 2.6, 3.7, 3.8 and 3.9; docs/protocol.md 4.5 for operations). */
export const devices = {
  devices_Query: query({
    summary: 'Devices that the caller can see, by id.',
    input: z.object(listInput(['deviceId'], z.object({}))),
    output: z.object({
      devices: z.array(
        z.object({
          deviceId: DeviceId,
          projectId: ProjectId,
          isConnected: z.boolean(),
          lastConnectedAt: Timestamp.optional(),
          currentConnectionDurationSecs: U32.optional(),
        }),
      ),
      ...listOutput,
    }),
    permission: 'user',
    aliases: ['devices_Devices', 'devices_QueryDevices'],
  }),
  devices_GetDetails: query({
    summary: 'One device with its certificates and open connections.',
    input: z.object({ deviceId: DeviceId }),
    output: z.object({
      deviceId: DeviceId,
      projectId: ProjectId,
      fingerprintId: DeviceFingerprintId,
      name: z.string().optional(),
      hostname: z.string().optional().describe('From its system information.'),
      firstSeen: Timestamp,
      isConnected: z.boolean(),
      lastConnectedAt: Timestamp.optional(),
      lastRefusal: Refusal.extend({
        since: Timestamp.optional().describe(
          'Time of the first of the refusals that `count` counts, if the hub recorded it.',
        ),
      }).optional(),
      refusals: z
        .array(z.object({ at: Timestamp, reason: z.string(), address: z.string() }))
        .describe('Latest refused connections of the device, newest first, at most 10.'),
      sharedIdentity: z
        .object({
          takeovers: U32.describe('Takeovers in the 10 minutes up to `lastAt`, at most 200 are counted.'),
          addresses: z
            .array(z.string())
            .describe('Addresses of the two last connections; one if they are equal.'),
          isOneMachine: z
            .literal(true)
            .optional()
            .describe('Both agents report the same start of one machine, so it runs two agents.'),
          firstAt: Timestamp.describe('Time from which on this was noticed.'),
          lastAt: Timestamp.describe('Time of the last takeover.'),
        })
        .optional()
        .describe(
          'Machines that take the connection of the device over from each other; until 10 minutes after the last takeover.',
        ),
      certificateEndsAt: CertificateEndsAt,
      updateError: z
        .string()
        .optional()
        .describe('Last error of its update with `#` in place of numbers and ids, as in lists of devices.'),
      labels: LabelsOutput.optional().describe('Labels that people have given to it; absent without any.'),
      /** Limits that the device exceeded within the last 30 days, the latest first. */
      limitHits: z.array(LimitHit),
      /**
       * Number of additional connections of the device to the cluster node that handles this call. One-shot commands of the device's agent
       * open such connections, which are not registered and not listed below (docs/protocol.md 1.5).
       */
      unregisteredLinks: U32,
      certificates: z.array(Certificate),
      connections: z.array(Connection),
    }),
    permission: { can: 'view', on: 'device', id: 'deviceId' },
    aliases: ['devices_GetDeviceDetails'],
  }),
  devices_SetName: command({
    summary: 'Renames a device; without a name, removes it.',
    input: z.object({ deviceId: DeviceId, name: optionalText(Name) }),
    output: Empty,
    permission: { can: 'manage', on: 'device', id: 'deviceId' },
    audit: ['deviceId', 'name'],
    aliases: ['devices_SetDeviceName'],
  }),
  devices_Delete: command({
    summary: 'Deletes a device with its history and ends its connections.',
    input: z.object({
      deviceId: DeviceId,
      askedBy: optional(AskedBy),
    }),
    output: Empty,
    permission: { can: 'delete', on: 'device', id: 'deviceId' },
    audit: ['deviceId'],
    aliases: ['devices_DeleteDevice'],
  }),
  devices_Block: command({
    summary:
      'Deletes a device like `devices_Delete`, and refuses its fingerprint and its certificates in the project from then on.',
    input: z.object({ deviceId: DeviceId }),
    output: z.object({
      blockId: DeviceBlockId,
      certificateCount: U32.describe('Certificates that are refused.'),
      sharedCertificateCount: U32.describe(
        'Certificates that are not refused, because other devices of the project have them.',
      ),
    }),
    permission: { can: 'manage', on: 'device', id: 'deviceId' },
    audit: ['deviceId'],
  }),
  devices_AddCertificate: command({
    summary: 'Registers the fingerprint of a certificate by hand, or the next one of the calling device.',
    input: z.object({
      deviceId: DeviceId,
      fingerprint: CertificateFingerprint,
      status: optional(CertificateStatus).describe(
        '`Pending` when missing; `Active` if the device itself announces it.',
      ),
      renewal: optional(
        z.object({
          currentCertificate: Pem.describe('Certificate of the connection.'),
          currentSignature: Signature.describe('Made with its key.'),
          nextCertificate: Pem.describe('Certificate with the given fingerprint.'),
          nextSignature: Signature.describe('Made with its key.'),
        }),
      ).describe('Needed from the device itself (docs/protocol.md 1.8), and ignored from people.'),
    }),
    output: z.object({ certificateId: DeviceCertificateId }),
    permission: { can: 'report', on: 'device', id: 'deviceId' },
    audit: ['deviceId', 'fingerprint', 'status'],
    aliases: ['devices_AddDeviceCertificate'],
  }),
  devices_SetCertificateStatus: command({
    summary: 'Accepts, rejects or revokes a certificate; leaving Active ends the live connection.',
    input: z.object({
      certificateId: DeviceCertificateId,
      status: CertificateStatus,
      keepSuccessors: KeepSuccessors,
      askedBy: optional(AskedBy),
    }),
    output: Empty,
    permission: { can: 'manage', on: 'certificate', id: 'certificateId' },
    audit: ['certificateId', 'status', 'keepSuccessors'],
    aliases: ['devices_SetDeviceCertificateStatus'],
  }),
  devices_DeleteCertificate: command({
    summary: 'Forgets a certificate; a rejected or revoked one stays refused.',
    input: z.object({ certificateId: DeviceCertificateId, keepSuccessors: KeepSuccessors }),
    output: Empty,
    permission: { can: 'delete', on: 'certificate', id: 'certificateId' },
    audit: ['certificateId', 'keepSuccessors'],
    aliases: ['devices_DeleteDeviceCertificate'],
  }),
  devices_QueryProperties: query({
    summary:
      'Properties of a device, keyed by name; all of them without `limit`, `cursor` and `maxValueBytes`.',
    input: z.object({
      deviceId: DeviceId,
      limit: optional(z.int().min(1).max(MAX_PAGE_SIZE)).describe(
        'Maximum number of properties, sorted by name; a page ends early when values are large.',
      ),
      cursor: optionalText(text(MAX_CURSOR_LENGTH)).describe('`nextCursor` of the previous page.'),
      maxValueBytes: optional(z.int().min(1).max(MAX_PROPERTY_VALUE_BYTES)).describe(
        'A value whose JSON text is larger is cut: `isCut` is true, and `value` is a string with the beginning of that text.',
      ),
      withActors: optional(z.boolean()).describe('Adds `changedBy`, from the history; in pages only.'),
    }),
    output: z.object({
      properties: z.record(
        z.string(),
        Property.extend({
          valueBytes: z.int().optional().describe('Size of the JSON text of the value; in a page only.'),
          isCut: z.boolean().optional().describe('Present and true where the value was cut.'),
          changedBy: z
            .object({ actor: StoredActor, actorName: z.string().optional() })
            .optional()
            .describe('Actor of the last change that the history has; with `withActors` only.'),
        }),
      ),
      ...listOutput,
    }),
    permission: { can: 'inspect', on: 'device', id: 'deviceId' },
    aliases: ['devices_QueryDeviceProperties'],
  }),
  devices_GetProperty: query({
    summary: 'One property of a device.',
    input: z.object({ deviceId: DeviceId, name: PropertyName }),
    output: z.discriminatedUnion('result', [
      z.object({ result: z.literal('NotFound') }),
      Property.extend({ result: z.literal('Found') }),
    ]),
    permission: { can: 'inspect', on: 'device', id: 'deviceId' },
    aliases: ['devices_GetDeviceProperty'],
  }),
  devices_SetProperty: telemetry({
    summary: 'Creates or replaces a property, a JSON value under a name.',
    input: z.object({
      deviceId: DeviceId,
      name: PropertyName,
      value: AnyJson,
      protected: optional(z.boolean()).describe(
        'A device may not change a protected property; only people set this.',
      ),
      expectedVersion: optional(U64).describe('Writes only if the property has this version.'),
    }),
    output: z.discriminatedUnion('result', [
      z.object({ result: z.literal('Set') }),
      z.object({ result: z.literal('VersionConflict'), currentVersion: z.int() }),
      z.object({ result: z.literal('Deleted') }),
    ]),
    permission: { can: 'report', on: 'device', id: 'deviceId' },
    failedResults: ['VersionConflict'],
    audit: ['deviceId', 'name', 'protected'],
    aliases: ['devices_SetDeviceProperty'],
  }),
  devices_RemoveProperty: telemetry({
    summary: 'Deletes a property.',
    input: z.object({ deviceId: DeviceId, name: PropertyName }),
    output: z.object({ result: z.enum(['Removed', 'NotFound']) }),
    permission: { can: 'report', on: 'device', id: 'deviceId' },
    audit: ['deviceId', 'name'],
  }),
  devices_QueryEvents: query({
    summary: 'Latest events of a device, newest first.',
    input: z.object({
      deviceId: DeviceId,
      limit: optional(z.int().min(1).max(1000)).describe(
        '100 when missing; a page ends early when events are large.',
      ),
      cursor: optionalText(text(1024)).describe('`nextCursor` of the previous page.'),
    }),
    output: z.object({ events: z.array(EventOutput), nextCursor: z.string().optional() }),
    permission: { can: 'view', on: 'device', id: 'deviceId' },
    aliases: ['devices_QueryDeviceEvents'],
  }),
  devices_PublishEvents: telemetry({
    summary: 'Uploads events; an event with a known id is not stored twice.',
    input: z.object({ deviceId: DeviceId, events: z.array(EventInput).max(MAX_EVENTS_PER_CALL) }),
    output: Empty,
    permission: { can: 'report', on: 'device', id: 'deviceId' },
    audit: ['deviceId'],
    aliases: ['devices_PublishDeviceEvents'],
  }),
  devices_QueryConnections: query({
    summary: 'Connection history of a device, newest first.',
    input: z.object({
      deviceId: DeviceId,
      limit: optional(z.int().min(1).max(1000)).describe('100 when missing.'),
      activeOnly: optional(z.boolean()),
    }),
    output: z.object({
      connections: z.array(
        z.object({
          connectionId: DeviceConnectionId,
          nodeId: ClusterNodeId,
          nodeName: z.string().optional(),
          connectedAt: Timestamp,
          endedAt: Timestamp.optional(),
          endReason: openWord(ConnectionEndReason).optional(),
          wasTakenOver: z
            .literal(true)
            .optional()
            .describe('A newer connection of the same device ended it; `endReason` is then `Disconnected`.'),
          durationSecs: U32,
        }),
      ),
    }),
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
  devices_GetConnectionHistory: query({
    summary: 'How long a device was connected in each tick of the time up to now.',
    cost: 'brief',
    input: z.object({
      deviceId: DeviceId,
      ticks: z.int().min(1).max(200).describe('Number of ticks.'),
      tickSecs: z.int().min(60).max(86_400).describe('Length of a tick.'),
      changes: optional(z.int().min(1).max(MAX_TIMELINE_PAGE)).describe(
        'Also returns at most this many changes by people within this time.',
      ),
    }),
    output: z.object({
      until: Timestamp.describe('End of the last tick by the clock of the hub.'),
      ticks: z
        .array(z.number().nullable())
        .describe('Shares from 0 to 1, the oldest first; null before the oldest connection.'),
      share: z
        .number()
        .optional()
        .describe(
          'Share since the oldest connection; absent if there was no connection yet, and with `tookTooLong`.',
        ),
      recordedSecs: z.number().describe('Time since the oldest connection, at most the whole time.'),
      interruptions: U32,
      longest: z.object({ secs: z.number(), startedAt: Timestamp }).optional(),
      readBackTo: Timestamp.optional().describe(
        'Beginning of the oldest connection that was read, if there are more than 20,000 in this time.',
      ),
      tookTooLong: z
        .literal(true)
        .optional()
        .describe('The connections were not read within 2 s; all ticks are null.'),
      changes: TimelineOutput.optional().describe(
        'Output of `devices_QueryTimeline` for entries of the kind `person`; absent with `tookTooLong`.',
      ),
    }),
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
  devices_QueryPropertyHistory: query({
    summary: 'Past values of a property, newest first, with who set them.',
    input: z.object({
      deviceId: DeviceId,
      name: PropertyName,
      ...listInput(['changedAt'], z.object({})),
    }),
    output: z.object({
      changes: z.array(
        z.object({
          version: z.int(),
          value: z.unknown().describe('Absent where the property was removed.'),
          isRemoved: z.boolean(),
          actor: StoredActor,
          actorName: z.string().optional().describe('Name of a person or device, as it is now.'),
          changedAt: Timestamp,
        }),
      ),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
  devices_GetProblemRun: query({
    summary: 'First and last report of the present problem of a device, from at most 10,000 past values.',
    cost: 'brief',
    input: z.object({
      deviceId: DeviceId,
      of: z
        .enum(['health', 'update'])
        .describe('The health status, or the failed installation of the version that is being installed.'),
    }),
    output: z.object({
      firstAt: Timestamp.optional().describe(
        'Absent without such a report, if older values were not read, and if reading took more than 2 s.',
      ),
      lastAt: Timestamp.optional().describe(
        'Absent without such a report, and if reading took more than 2 s. Every health status counts, also a good one.',
      ),
    }),
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
  devices_QueryTimeline: query({
    summary:
      'What happened on a device, newest first, from at most 20,000 rows that are read in at most 1 s.',
    cost: 'brief',
    input: TimelineInput,
    output: TimelineOutput,
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
  devices_Create: command({
    summary: 'Registers a device by its fingerprint before it connects.',
    input: z.object({ projectId: ProjectId, fingerprint: DeviceFingerprint }),
    output: z.object({ deviceId: DeviceId }),
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId'],
    aliases: ['devices_CreateDevice'],
  }),
  devices_IssueDeviceToken: telemetry({
    summary: 'Signs a JWT that names the device and carries claims of the caller, for other systems.',
    input: z.object({
      deviceId: DeviceId,
      validForSecs: optional(z.int().min(1).max(31_536_000)).describe(
        '3,600 when missing; a device itself gets at most 86,400.',
      ),
      claims: optional(z.unknown()).describe('Any JSON; nested under `claims` in the JWT.'),
    }),
    output: z.object({ jwt: z.string() }),
    permission: { can: 'report', on: 'device', id: 'deviceId' },
    audit: ['deviceId', 'validForSecs'],
    shownOnce: ['jwt'],
  }),
  devices_ValidateDeviceToken: query({
    summary: 'Checks a JWT of `devices_IssueDeviceToken`, whose device needs an active certificate.',
    input: z.object({ jwt: secret(z.string().max(MAX_DEVICE_JWT_LENGTH)) }),
    output: z.discriminatedUnion('result', [
      z.object({ result: z.literal('Invalid') }),
      z.object({ result: z.literal('Valid'), deviceId: DeviceId, claims: z.unknown() }),
    ]),
    permission: 'anyone',
  }),
  devices_IssueHttpProxyToken: command({
    summary: 'Makes a URL through which a browser reaches a web server on the device.',
    input: z.object({
      deviceId: DeviceId,
      validForSecs: optional(z.int().min(1).max(31_536_000)).describe(
        '7,200 when missing; larger values count as 7,200.',
      ),
      hostname: optionalText(HostName).describe('An unused host name directly below the proxy domain.'),
      port: optional(z.int().min(1).max(65_535)).describe('80 when missing.'),
      protocol: optional(z.enum(['http', 'https'])).describe(
        '`http` when missing. With `https` the certificate of the device is not verified.',
      ),
      redirect: optionalText(text(2048)).describe('Address on this hub to which an expired link redirects.'),
    }),
    output: z.object({ jwt: z.string(), url: z.string() }),
    permission: { can: 'manage', on: 'device', id: 'deviceId' },
    audit: ['deviceId', 'validForSecs', 'hostname', 'port', 'protocol', 'redirect'],
    shownOnce: ['jwt'],
    aliases: ['devices_IssueDeviceHttpProxyToken'],
  }),
}
