import { z } from 'zod'
import { StoredActor } from './accounts.ts'
import { listInput, listOutput, optional, optionalText, query } from './define.ts'
import {
  AuditLogActionId,
  AuditLogEventId,
  DeviceId,
  JobId,
  OrganizationId,
  PackageId,
  ProjectId,
  RepositoryId,
} from './ids.ts'
import { MAX_FILTER_LENGTH, MAX_KIND_LENGTH } from './limits.ts'
import { openWord, Timestamp, text, WithinSecs } from './scalars.ts'

/** Outcomes of an audited action (docs/specification.md 4). */
export const AuditActionStatus = z.enum(['Rejected', 'Panicked', 'Succeeded', 'Failed', 'Pending'])

const Owners = z
  .object({
    projectId: ProjectId.optional(),
    repositoryId: RepositoryId.optional(),
    deviceId: DeviceId.optional(),
  })
  .describe('Resource of a failed action.')

const Seal = z
  .object({ sealNo: z.int(), sealedAt: Timestamp })
  .describe('Seal that covers the entry; absent for entries of the last minutes.')

const AuditLogEvent = z.object({
  eventId: z
    .union([AuditLogEventId, AuditLogActionId])
    .describe('Id of the event, or of the action if it failed.'),
  actor: StoredActor,
  actorName: z.string().optional().describe('Name of a person, device or node, as it is now.'),
  tokenName: z.string().optional().describe('Name of the user token that the person used, while it exists.'),
  event: z.string().describe('Name of the event, or of the action if it failed.'),
  data: z.record(z.string(), z.unknown()),
  createdAt: Timestamp,
  action: z.object({ actionId: AuditLogActionId }).optional(),
  job: z.object({ jobId: JobId }).optional(),
  status: openWord(AuditActionStatus).optional().describe('Outcome of a failed action; absent for events.'),
  reason: z.string().optional().describe('Why the action failed, as its caller was told.'),
  owners: Owners.optional(),
  old: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Values before the change. A value above 1 KiB is given as `{bytes, sha256}`.'),
  address: z
    .string()
    .optional()
    .describe(
      'Client address, for administrators of the organization; never that of an administrator of the instance.',
    ),
  browser: z.string().optional().describe('`User-Agent` of the client, for the same people as `address`.'),
  seal: Seal.optional(),
})

const AuditLogAction = z.object({
  actionId: AuditLogActionId,
  actor: StoredActor,
  actorName: z.string().optional().describe('Name of a person, device or node, as it is now.'),
  tokenName: z.string().optional().describe('Name of the user token that the person used, while it exists.'),
  action: z.string(),
  data: z.record(z.string(), z.unknown()),
  status: openWord(AuditActionStatus),
  reason: z.string().optional().describe('Why the action failed, as its caller was told.'),
  owners: Owners.optional(),
  createdAt: Timestamp,
  seal: Seal.optional(),
})

const Subject = z.object({
  name: z.string().optional(),
  hostname: z.string().optional().describe('Host name of a device.'),
  organizationId: OrganizationId.optional(),
  projectId: ProjectId.optional(),
  repositoryId: RepositoryId.optional(),
  packageId: PackageId.optional(),
  isDeleted: z.literal(true).optional(),
})

const Sealing = z.object({
  newest: z.object({ sealNo: z.int(), sealedAt: Timestamp, newestAt: Timestamp }).optional(),
  verified: z
    .object({
      verifiedAt: Timestamp,
      sealNo: z.int().describe('Newest seal that was verified and intact.'),
      isIntact: z.boolean(),
      problem: z.string().optional().describe('First difference, in the log of the instance only.'),
    })
    .optional(),
})

const TimeOfDay = text(5).regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'expected a time of day such as 18:00')

const commonFilter = {
  types: optional(z.array(text(MAX_KIND_LENGTH)).max(100)).describe('Names of events or actions.'),
  actor: optionalText(text(MAX_FILTER_LENGTH)).describe(
    'Id of an actor, or part of a person’s name or address.',
  ),
  since: optional(Timestamp).describe('Not older than this.'),
  until: optional(Timestamp).describe('Older than this.'),
  withinSecs: WithinSecs,
  subject: optionalText(text(MAX_KIND_LENGTH)).describe('Id of what the entry is about.'),
  text: optionalText(text(MAX_FILTER_LENGTH)).describe(
    'Part of the name of a person, device, project or repository, the beginning of an address of a device, or a whole id.',
  ),
  hours: optional(
    z.object({
      from: TimeOfDay,
      to: TimeOfDay,
      timeZone: text(64)
        .regex(/^[A-Za-z][A-Za-z0-9_+/-]*$/, 'expected a time zone such as Europe/Berlin')
        .describe('IANA time zone of the hours.'),
    }),
  ).describe('Only between these times of day, on every day; `to` before `from` is on the next day.'),
}

const Names = optional(z.boolean()).describe('Answers `subjects` and, on the first page, `sealing`.')

const eventsInput = {
  ...listInput(['createdAt'], z.object(commonFilter)),
  outcome: optional(z.enum(['Events', 'Failed', 'All'])).describe(
    'Events, which is the default; failed, rejected and panicked actions; or both.',
  ),
  names: Names,
}
const nameOutput = {
  subjects: z.record(z.string(), Subject).optional().describe('What the ids in the entries stand for.'),
  sealing: Sealing.optional().describe('Newest seal and result of the last verification.'),
}
const eventsOutput = z.object({ events: z.array(AuditLogEvent), ...listOutput, ...nameOutput })

const activityInput = {
  filter: optional(z.object(commonFilter)).describe('The last 24 h if it has no beginning.'),
}
const activityOutput = z.object({
  activity: z
    .object({
      from: Timestamp,
      until: Timestamp,
      entryCount: z.int().describe('Events and failed actions.'),
      failureCount: z.int(),
      bins: z
        .array(z.object({ entryCount: z.int(), failureCount: z.int() }))
        .describe('Numbers in equal parts of the time, oldest first.'),
    })
    .optional()
    .describe('Absent where 2 s did not suffice.'),
})

/**
 * Queries of the audit log, newest first (docs/api.md 2.3, 3.3, 3.4 and 5). A call without `limit` returns the newest 1,000
 * rows.
 */
export const audit = {
  audit_QueryAuditLogEvents: query({
    summary: 'Audit events of the instance, newest first.',
    cost: 'scan if filtered',
    input: z.object(eventsInput),
    output: eventsOutput,
    permission: 'admin',
  }),
  audit_QueryAuditLogActivity: query({
    summary: 'Numbers of entries in the log of the instance over time.',
    cost: 'brief',
    input: z.object(activityInput),
    output: activityOutput,
    permission: 'admin',
  }),
  audit_QueryAuditLogActions: query({
    summary: 'Every action that was tried on the instance, with its outcome, newest first.',
    cost: 'scan if filtered',
    input: z.object({
      ...listInput(
        ['createdAt'],
        z.object({ ...commonFilter, statuses: optional(z.array(AuditActionStatus).max(5)) }),
      ),
      names: Names,
    }),
    output: z.object({ actions: z.array(AuditLogAction), ...listOutput, ...nameOutput }),
    permission: 'admin',
  }),
  organizations_QueryAuditLog: query({
    summary: 'Audit events of an organization, its projects and repositories, newest first.',
    cost: 'scan if filtered',
    input: z.object({ organizationId: OrganizationId, ...eventsInput }),
    output: eventsOutput,
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
  organizations_QueryAuditLogActivity: query({
    summary: 'Numbers of entries in the log of an organization over time.',
    cost: 'brief',
    input: z.object({ organizationId: OrganizationId, ...activityInput }),
    output: activityOutput,
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
  projects_QueryAuditLog: query({
    summary: 'Audit events of a project and its devices, newest first.',
    cost: 'scan if filtered',
    input: z.object({ projectId: ProjectId, ...eventsInput }),
    output: eventsOutput,
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_QueryAuditLogActivity: query({
    summary: 'Numbers of entries in the log of a project over time.',
    cost: 'brief',
    input: z.object({ projectId: ProjectId, ...activityInput }),
    output: activityOutput,
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  repositories_QueryAuditLog: query({
    summary: 'Audit events of a repository, newest first.',
    cost: 'scan if filtered',
    input: z.object({ repositoryId: RepositoryId, ...eventsInput }),
    output: eventsOutput,
    permission: { can: 'view', on: 'repository', id: 'repositoryId' },
    aliases: ['repositories_QueryAuditLogEvents'],
  }),
  repositories_QueryAuditLogActivity: query({
    summary: 'Numbers of entries in the log of a repository over time.',
    cost: 'brief',
    input: z.object({ repositoryId: RepositoryId, ...activityInput }),
    output: activityOutput,
    permission: { can: 'view', on: 'repository', id: 'repositoryId' },
  }),
  devices_QueryAuditLogActivity: query({
    summary: 'Numbers of entries in the log of a device over time.',
    cost: 'brief',
    input: z.object({ deviceId: DeviceId, ...activityInput }),
    output: activityOutput,
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
  devices_QueryAuditLog: query({
    summary: 'Audit events of a device, newest first.',
    cost: 'scan if filtered',
    input: z.object({ deviceId: DeviceId, ...eventsInput }),
    output: eventsOutput,
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
}
