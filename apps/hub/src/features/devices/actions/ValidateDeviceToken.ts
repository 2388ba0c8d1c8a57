import { handler } from '../../../platform/pipeline/handler.ts'

/** Checks a device JWT: its signature, its expiry and an active certificate of the device. */
export const devices_ValidateDeviceToken = handler(
  'devices_ValidateDeviceToken',
  async ({ db, services }, { jwt }) => {
    const verified = await services.jwts.verifyDevice(jwt)
    if (!verified) return { result: 'Invalid' as const }
    const { certificateId, ...valid } = verified
    const certificate = await db
      .selectFrom('device_certificate')
      .innerJoin('device', 'device.device_id', 'device_certificate.device_id')
      // After a project was deleted, rows of its devices remain until the sweep job. The join excludes them.
      .innerJoin('project', 'project.project_id', 'device.project_id')
      .where('device.device_id', '=', verified.deviceId)
      .where('status', '=', 'Active')
      .$if(certificateId !== undefined, query => query.where('certificate_id', '=', certificateId!))
      .select('certificate_id')
      .limit(1)
      .executeTakeFirst()
    return certificate ? { result: 'Valid' as const, ...valid } : { result: 'Invalid' as const }
  },
)
