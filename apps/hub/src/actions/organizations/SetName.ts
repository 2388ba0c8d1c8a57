import { handler } from '../../handler.ts'

/** Renames an organization. */
export const organizations_SetName = handler(
  'organizations_SetName',
  async ({ tx, events, changed }, { organizationId, name }) => {
    await tx
      .updateTable('organization')
      .set({ name })
      .where('organization_id', '=', organizationId)
      .returning('organization_id')
      .executeTakeFirstOrThrow()
    await events.emit('organizations_NameChanged', { organizationId, name })
    changed('organizations')
    return {}
  },
)
