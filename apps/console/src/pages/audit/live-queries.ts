import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about logs that live changes affect. */
export const auditQueries = {
  audit_QueryAuditLogEvents: { log: null },
  organizations_QueryAuditLog: { log: 'organizationId' },
  projects_QueryAuditLog: { log: 'projectId' },
  devices_QueryAuditLog: { log: 'deviceId' },
  repositories_QueryAuditLog: { log: 'repositoryId' },
} satisfies LiveQueries<'audit'>
