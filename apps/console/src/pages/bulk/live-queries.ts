import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about bulk actions that live changes affect. */
export const bulkQueries = {
  devices_GetBulkCounts: { certificates: 'projectId' },
  devices_GetBulkAction: { connections: 'projectId' },
  devices_QueryBulkActionItems: { connections: 'projectId' },
} satisfies LiveQueries<'bulk'>
