import { sql } from 'kysely'
import { mayIn } from '../../../platform/access/rights.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Returns whether an active account may view a device. */
export const users_GetDevicePermissions = handler(
  'users_GetDevicePermissions',
  async ({ db }, { userId, deviceId }) => {
    const device = await db
      .selectFrom('device as d')
      .innerJoin('project as p', 'p.project_id', 'd.project_id')
      .innerJoin('user as u', join => join.on('u.user_id', '=', userId).on('u.is_active', '=', true))
      .where('d.device_id', '=', deviceId)
      .where(mayIn('view', userId, sql`p.organization_id`))
      .select('d.device_id')
      .executeTakeFirst()
    return { hasAccess: device !== undefined }
  },
)
