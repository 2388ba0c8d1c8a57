import { handler } from '../../../platform/pipeline/handler.ts'

/**
 * Deletes a project. A job deletes its devices with their properties and events. After the commit, the connections of its devices
 * are closed.
 */
export const projects_Delete = handler(
  'projects_Delete',
  async ({ tx, events, changed, enqueue, afterCommit, services }, { projectId }) => {
    const old = await tx
      .deleteFrom('project')
      .where('project_id', '=', projectId)
      .returning('name')
      .executeTakeFirstOrThrow()
    await enqueue('devices_SweepHistory', {})
    await events.emit('projects_Deleted', { projectId }, { old })
    afterCommit(() => services.devices.endRight({ projectId }, 'the project of this device was deleted'))
    changed('projects')
    return {}
  },
)
