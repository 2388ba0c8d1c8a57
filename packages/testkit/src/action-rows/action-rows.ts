import type { ActionName } from '@muster/actions'
import { accountRows } from './accounts.ts'
import { auditRows } from './audit.ts'
import { deviceRows } from './devices.ts'
import { instanceRows } from './instance.ts'
import { organizationRows } from './organizations.ts'
import { projectRows } from './projects.ts'
import { repositoryRows } from './repositories.ts'
import type { Row } from './row.ts'

/**
 * One row for each action, read by the tests of permissions, hostile input, the audit log and lists. An action without a row does
 * not compile.
 */
export const ACTION_ROWS: { [N in ActionName]: Row<N> } = {
  ...accountRows,
  ...organizationRows,
  ...projectRows,
  ...deviceRows,
  ...repositoryRows,
  ...instanceRows,
  ...auditRows,
}
