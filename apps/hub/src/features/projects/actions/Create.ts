import { newId } from '@muster/actions'
import { nameKey } from '@muster/predicates/name-key'
import { requireRoom } from '../../../platform/limits/require-room.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { lockMembers } from '../../organizations/index.ts'

/** Creates a project. Throws `LimitReached` when the organization has the maximum number of projects. */
export const projects_Create = handler(
  'projects_Create',
  async ({ tx, events, changed, services }, { organizationId, name }) => {
    await lockMembers(tx, organizationId)
    const { count } = await tx
      .selectFrom('project')
      .where('organization_id', '=', organizationId)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    const remedy = 'Delete a project that is not used any more.'
    requireRoom(services, 'organization-projects', { organizationId }, count, remedy)
    const projectId = newId('p')
    await tx
      .insertInto('project')
      .values({
        project_id: projectId,
        organization_id: organizationId,
        name,
        name_key: nameKey(name),
        certificate_renewal: true,
      })
      .execute()
    await events.emit('projects_Created', { projectId })
    changed('projects', { projectId })
    return { result: 'Created' as const, projectId }
  },
)
