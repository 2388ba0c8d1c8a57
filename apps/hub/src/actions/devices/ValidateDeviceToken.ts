import { handler } from '../../handler.ts'

export const devices_ValidateDeviceToken = handler(
  'devices_ValidateDeviceToken',
  async ({ db, services }, { jwt }) => {
    const told = await services.jwts.verifyDevice(jwt)
    if (!told) return { result: 'Invalid' as const }
    const device = await db
      .selectFrom('device')
      // One of a deleted project may not be swept yet.
      .innerJoin('project', 'project.project_id', 'device.project_id')
      .where('device_id', '=', told.deviceId)
      .select('device_id')
      .executeTakeFirst()
    return device ? { result: 'Valid' as const, ...told } : { result: 'Invalid' as const }
  },
)
