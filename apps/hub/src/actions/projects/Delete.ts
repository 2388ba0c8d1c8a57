import { sql } from 'kysely'
import { deleteDevices } from '../../database/deletion.ts'
import { handler } from '../../handler.ts'

export const projects_Delete = handler(
  'projects_Delete',
  async ({ tx, events, changed, afterCommit, services }, { projectId }) => {
    await deleteDevices(tx, sql`project_id = ${projectId}`)
    await tx.deleteFrom('project').where('project_id', '=', projectId).execute()
    await events.emit('projects_Deleted', { projectId })
    afterCommit(() => services.devices.closeWhere({ projectId }, 'the project of this device was deleted'))
    changed('projects')
    return {}
  },
)
