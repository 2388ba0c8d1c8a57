import { sql } from 'kysely'
import { deleteDevices, deleteRepositories } from '../../database/deletion.ts'
import { handler } from '../../handler.ts'

export const organizations_Delete = handler(
  'organizations_Delete',
  async ({ tx, events, changed, afterCommit, services }, { organizationId }) => {
    await deleteDevices(
      tx,
      sql`project_id in (select project_id from project where organization_id = ${organizationId})`,
    )
    await deleteRepositories(tx, sql`organization_id = ${organizationId}`)
    await tx.deleteFrom('organization').where('organization_id', '=', organizationId).execute()
    await events.emit('organizations_Deleted', { organizationId })
    afterCommit(() =>
      services.devices.closeWhere({ organizationId }, 'the organization of this device was deleted'),
    )
    changed('organizations')
    return {}
  },
)
