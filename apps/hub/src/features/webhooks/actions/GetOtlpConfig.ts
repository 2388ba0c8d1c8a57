import { handler } from '../../../platform/pipeline/handler.ts'
import { exportConfig, exportRows } from '../exports.ts'

/** Returns where the events of a project are exported to, without the values of headers. */
export const projects_GetOtlpConfig = handler(
  'projects_GetOtlpConfig',
  async ({ db, services }, { projectId }) => {
    const row = await exportRows(db, projectId).executeTakeFirst()
    return { config: exportConfig(services.webhookParts.secretBox, row) }
  },
)
