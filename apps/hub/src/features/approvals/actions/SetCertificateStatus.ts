import { ActionError } from '@muster/actions'
import { requireAskingSession } from '../../../platform/access/asking-session.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { changeCertificateStatus, mayBecome } from '../certificate-status.ts'

/**
 * Changes the status of a certificate. A certificate that is no longer `Active` loses its connections. `askedBy` names the session of the
 * person who clicked, for the same reason as in `devices_Delete`.
 */
export const devices_SetCertificateStatus = handler(
  'devices_SetCertificateStatus',
  async (context, { certificateId, status, keepSuccessors, askedBy }) => {
    requireAskingSession(context.caller, askedBy, 'Decide again.')
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
