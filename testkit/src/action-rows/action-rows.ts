import type { ActionName } from '@muster/actions'
import { accountRows } from './accounts.ts'
import { auditRows } from './audit.ts'
import { bulkActionRows } from './bulk-actions.ts'
import { deviceRows } from './devices.ts'
import { instanceRows } from './instance.ts'
import { labelRows } from './labels.ts'
import { operationRows } from './operations.ts'
import { organizationRows } from './organizations.ts'
import { projectRows } from './projects.ts'
import { repositoryRows } from './repositories.ts'
import type { Row } from './row.ts'
import { softwareRows } from './software.ts'
import { viewRows } from './views.ts'
import { webhookRows } from './webhooks.ts'

/**
 * A row (test case) for each action, for the table-driven tests of permissions, hostile input, the audit log and lists. A missing
 * row is a compile error.
 */
export const ACTION_ROWS: { [N in ActionName]: Row<N> } = {
  ...accountRows,
  ...organizationRows,
  ...projectRows,
  ...deviceRows,
  ...labelRows,
  ...bulkActionRows,
  ...operationRows,
  ...repositoryRows,
  ...softwareRows,
  ...viewRows,
  ...webhookRows,
  ...instanceRows,
  ...auditRows,
}
