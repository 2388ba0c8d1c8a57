// Written by `npm run gen` from the files live-queries.ts of the features.
import { accountQueries } from '../../pages/accounts/live-queries.ts'
import { certificateQueries } from '../../pages/approvals/live-queries.ts'
import { auditQueries } from '../../pages/audit/live-queries.ts'
import { bulkQueries } from '../../pages/bulk/live-queries.ts'
import { timelineQueries } from '../../pages/devices/detail/timeline/live-queries.ts'
import { deviceQueries } from '../../pages/devices/live-queries.ts'
import { labelQueries } from '../../pages/labels/live-queries.ts'
import { operationQueries } from '../../pages/operations/live-queries.ts'
import { organizationQueries } from '../../pages/organizations/live-queries.ts'
import { projectQueries } from '../../pages/projects/live-queries.ts'
import { repositoryQueries } from '../../pages/repositories/live-queries.ts'
import { softwareQueries } from '../../pages/software/live-queries.ts'
import { viewQueries } from '../../pages/views/live-queries.ts'
import { webhookQueries } from '../../pages/webhooks/live-queries.ts'

/** Queries that live changes affect. A change causes a refetch of these on screen. */
export const LIVE_QUERIES = {
  ...accountQueries,
  ...certificateQueries,
  ...auditQueries,
  ...bulkQueries,
  ...timelineQueries,
  ...deviceQueries,
  ...labelQueries,
  ...operationQueries,
  ...organizationQueries,
  ...projectQueries,
  ...repositoryQueries,
  ...softwareQueries,
  ...viewQueries,
  ...webhookQueries,
}
