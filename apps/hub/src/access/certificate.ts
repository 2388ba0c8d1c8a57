import { type Resolve, roleOf } from './scope.ts'

/** A certificate belongs to its device. */
export const resolveCertificate: Resolve = async (db, certificateId, userId) => {
  const row = await db
    .selectFrom('device_certificate as c')
    .innerJoin('device as d', 'd.device_id', 'c.device_id')
    .innerJoin('project as p', 'p.project_id', 'd.project_id')
    .leftJoin('organization_member as m', join =>
      join.onRef('m.organization_id', '=', 'p.organization_id').on('m.user_id', '=', userId ?? ''),
    )
    .where('c.certificate_id', '=', certificateId)
    .select(['p.organization_id', 'p.project_id', 'd.device_id', 'm.is_admin'])
    .executeTakeFirst()
  return (
    row && {
      organizationId: row.organization_id,
      projectId: row.project_id,
      deviceId: row.device_id,
      role: roleOf(row.is_admin),
    }
  )
}
