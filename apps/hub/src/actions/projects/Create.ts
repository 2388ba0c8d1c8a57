import { newId } from '@muster/actions'
import { handler } from '../../handler.ts'

export const projects_Create = handler(
  'projects_Create',
  async ({ tx, events, changed }, { organizationId, name }) => {
    const projectId = newId('p')
    await tx
      .insertInto('project')
      .values({ project_id: projectId, organization_id: organizationId, name })
      .execute()
    await events.emit('projects_Created', { projectId })
    changed('projects', { projectId })
    return { result: 'Created' as const, projectId }
  },
)
