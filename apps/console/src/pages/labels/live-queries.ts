import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about labels that live changes affect. */
export const labelQueries = {
  projects_QueryLabelKeys: { devices: 'projectId' },
  projects_QueryLabelValues: { devices: 'projectId' },
} satisfies LiveQueries<'labels'>
