import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about certificates that live changes affect. */
export const certificateQueries = {
  projects_QueryPendingCertificates: { devices: 'projectId', certificates: 'projectId' },
} satisfies LiveQueries<'approvals'>
