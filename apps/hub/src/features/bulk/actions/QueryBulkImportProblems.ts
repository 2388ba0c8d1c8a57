import { MAX_PAGE_SIZE } from '@muster/actions'
import { sql } from 'kysely'
import { refusal } from '../../../platform/access/authorize.ts'
import { queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { problemRow } from '../change-preview.ts'

/** Lists the rows of an import that change no device, in the order in which they were added. */
export const devices_QueryBulkImportProblems = handler(
  'devices_QueryBulkImportProblems',
  async ({ db }, { projectId, bulkActionId, problem, limit = MAX_PAGE_SIZE, cursor }) => {
    const action = await db
      .selectFrom('bulk_action')
      .where('bulk_action_id', '=', bulkActionId)
      .where('project_id', '=', projectId)
      .select('bulk_action_id')
      .executeTakeFirst()
    if (!action) throw refusal()
    const query = db
      .selectFrom('bulk_import_problem as p')
      .where('p.bulk_action_id', '=', bulkActionId)
      .$if(problem !== undefined, problems => problems.where('p.problem', '=', problem!))
      .select(['p.row_number', 'p.key', 'p.problem', 'p.message'])
    const { rows, ...rest } = await queryPage(
      query,
      { limit, cursor },
      { position: { by: sql`p.position`, type: 'integer' } },
      sql`p.key`,
      'position',
    )
    return { rows: rows.map(problemRow), ...rest }
  },
)
