import { type Resolve, roleOf } from './scope.ts'

/** A device belongs to its project. */
export const resolveDevice: Resolve = async (db, deviceId, userId) => {
  const row = await db
    .selectFrom('device as d')
    .innerJoin('project as p', 'p.project_id', 'd.project_id')
    .leftJoin('organization_member as m', join =>
      join.onRef('m.organization_id', '=', 'p.organization_id').on('m.user_id', '=', userId ?? ''),
    )
    .where('d.device_id', '=', deviceId)
    .select(['p.organization_id', 'p.project_id', 'm.is_admin'])
    .executeTakeFirst()
  return (
    row && {
      organizationId: row.organization_id,
      projectId: row.project_id,
      deviceId,
      role: roleOf(row.is_admin),
    }
  )
}
