import { ActionError } from '@muster/actions'
import { handler } from '../../../platform/pipeline/handler.ts'
import { changeCertificateStatus, mayBecome } from '../certificate-status.ts'

/** Changes the status of a certificate. A certificate that is no longer `Active` loses its connections. */
export const devices_SetCertificateStatus = handler(
  'devices_SetCertificateStatus',
  async (context, { certificateId, status, keepSuccessors }) => {
    const { deviceId, projectId } = context.scope
    const certificate = { certificateId, deviceId: deviceId!, projectId: projectId! }
    const before = await changeCertificateStatus(
      context,
      context.services.devices,
      certificate,
      status,
      keepSuccessors,
    )
    if (before !== status && !mayBecome(before, status)) {
      throw new ActionError('Invalid', `A certificate that is ${before} cannot become ${status}.`, {
        status: 409,
      })
    }
    return {}
  },
)
