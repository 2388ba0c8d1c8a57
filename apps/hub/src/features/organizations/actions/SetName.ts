import { handler } from '../../../platform/pipeline/handler.ts'

/** Renames an organization. */
export const organizations_SetName = handler(
  'organizations_SetName',
  async ({ tx, events, changed }, { organizationId, name }) => {
    const before = await tx
      .selectFrom('organization')
      .where('organization_id', '=', organizationId)
      .select('name')
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    await tx.updateTable('organization').set({ name }).where('organization_id', '=', organizationId).execute()
    await events.emit('organizations_NameChanged', { organizationId, name }, { old: before })
    changed('organizations')
    return {}
  },
)
