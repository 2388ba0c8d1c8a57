import { ActionError } from '@muster/actions'
import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { addImportRows, type ImportForm } from '../changes/import-rows.ts'

/** Adds rows to an import that was not started. The lock of the import puts concurrent calls in order. */
export const devices_AddBulkImportRows = handler(
  'devices_AddBulkImportRows',
  async ({ tx }, { projectId, bulkActionId, rows }) => {
    const found = await tx
      .selectFrom('bulk_action')
      .where('bulk_action_id', '=', bulkActionId)
      .where('project_id', '=', projectId)
      .where('kind', '=', 'Import')
      .select(['status', 'change', 'row_count'])
      .forUpdate()
      .executeTakeFirst()
    if (!found) throw refusal()
    if (found.status !== 'Prepared')
      throw new ActionError('Invalid', 'This import was started already. Begin another one.', { status: 409 })
    const { change, row_count: rowCount } = found
    return addImportRows(tx, { bulkActionId, projectId, form: change as ImportForm, rowCount }, rows)
  },
)
