import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about saved views that live changes affect. */
export const viewQueries = {
  views_Query: { views: 'projectId' },
  views_Get: { views: 'projectId' },
} satisfies LiveQueries<'views'>
