import { z } from 'zod'
import { Actor } from './accounts.ts'
import { listInput, listOutput, optional, optionalText, query } from './define.ts'
import {
  AuditLogActionId,
  AuditLogEventId,
  DeviceId,
  JobId,
  OrganizationId,
  ProjectId,
  RepositoryId,
} from './ids.ts'
import { MAX_FILTER_LENGTH, MAX_KIND_LENGTH } from './limits.ts'
import { Timestamp, text } from './scalars.ts'

/** Outcomes of an audited action (docs/product.md 4). */
export const AuditActionStatus = z.enum(['Rejected', 'Panicked', 'Succeeded', 'Failed', 'Pending'])

const AuditLogEvent = z.object({
  eventId: AuditLogEventId,
  actor: Actor,
  actorName: z.string().optional().describe('Name of a person, device or node, as it is now.'),
  tokenName: z.string().optional().describe('Name of the user token that the person used, while it exists.'),
  event: z.string(),
  data: z.record(z.string(), z.unknown()),
  createdAt: Timestamp,
  action: z.object({ actionId: AuditLogActionId }).optional(),
  job: z.object({ jobId: JobId }).optional(),
})

const AuditLogAction = z.object({
  actionId: AuditLogActionId,
  actor: Actor,
  actorName: z.string().optional().describe('Name of a person, device or node, as it is now.'),
  tokenName: z.string().optional().describe('Name of the user token that the person used, while it exists.'),
  action: z.string(),
  data: z.record(z.string(), z.unknown()),
  status: AuditActionStatus,
  createdAt: Timestamp,
})

const commonFilter = {
  types: optional(z.array(text(MAX_KIND_LENGTH)).max(100)).describe('Names of events or actions.'),
  actor: optionalText(text(MAX_FILTER_LENGTH)).describe(
    'Id of an actor, or part of a person’s name or address.',
  ),
  since: optional(Timestamp).describe('Not older than this.'),
  until: optional(Timestamp).describe('Older than this.'),
}

const eventsInput = listInput(['createdAt'], z.object(commonFilter))
const eventsOutput = z.object({ events: z.array(AuditLogEvent), ...listOutput })

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
  audit_QueryAuditLogActions: query({
    summary: 'Every action that was tried on the instance, with its outcome, newest first.',
    cost: 'scan if filtered',
    input: z.object(
      listInput(
        ['createdAt'],
        z.object({ ...commonFilter, statuses: optional(z.array(AuditActionStatus).max(5)) }),
      ),
    ),
    output: z.object({ actions: z.array(AuditLogAction), ...listOutput }),
    permission: 'admin',
  }),
  organizations_QueryAuditLog: query({
    summary: 'Audit events of an organization, its projects and repositories, newest first.',
    cost: 'scan if filtered',
    input: z.object({ organizationId: OrganizationId, ...eventsInput }),
    output: eventsOutput,
    permission: { can: 'view', on: 'organization', id: 'organizationId' },
  }),
  projects_QueryAuditLog: query({
    summary: 'Audit events of a project and its devices, newest first.',
    cost: 'scan if filtered',
    input: z.object({ projectId: ProjectId, ...eventsInput }),
    output: eventsOutput,
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
  devices_QueryAuditLog: query({
    summary: 'Audit events of a device, newest first.',
    cost: 'scan if filtered',
    input: z.object({ deviceId: DeviceId, ...eventsInput }),
    output: eventsOutput,
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
}
