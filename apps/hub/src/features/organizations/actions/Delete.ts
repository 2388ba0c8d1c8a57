import { sql } from 'kysely'
import { handler } from '../../../platform/pipeline/handler.ts'
import { deleteRepositories } from '../../repositories/index.ts'

/** Deletes an organization with everything in it. After the commit, the connections of its devices are closed. */
export const organizations_Delete = handler(
  'organizations_Delete',
  async ({ tx, events, changed, enqueue, afterCommit, services }, { organizationId }) => {
    await deleteRepositories(tx, sql`organization_id = ${organizationId}`)
    const old = await tx
      .deleteFrom('organization')
      .where('organization_id', '=', organizationId)
      .returning('name')
      .executeTakeFirstOrThrow()
    await enqueue('devices_SweepHistory', {})
    await events.emit('organizations_Deleted', { organizationId }, { old })
    afterCommit(() =>
      services.devices.endRight({ organizationId }, 'the organization of this device was deleted'),
    )
    changed('organizations')
    return {}
  },
)
