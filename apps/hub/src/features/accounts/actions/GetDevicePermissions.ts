import { handler } from '../../../platform/pipeline/handler.ts'

/** Returns whether an active account is a member of the organization that owns a device. */
export const users_GetDevicePermissions = handler(
  'users_GetDevicePermissions',
  async ({ db }, { userId, deviceId }) => {
    const membership = await db
      .selectFrom('device as d')
      .innerJoin('project as p', 'p.project_id', 'd.project_id')
      .innerJoin('organization_member as m', 'm.organization_id', 'p.organization_id')
      .innerJoin('user as u', 'u.user_id', 'm.user_id')
      .where('d.device_id', '=', deviceId)
      .where('u.user_id', '=', userId)
      .where('u.is_active', '=', true)
      .select('u.user_id')
      .executeTakeFirst()
    return { hasAccess: membership !== undefined }
  },
)
