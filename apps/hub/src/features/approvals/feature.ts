import { event } from '../../platform/audit/events.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import { owners } from './owners.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `devices_AddCertificate`, and when a device connects with a new certificate. */
  devices_CertificateAdded: event<{
    projectId: string
    deviceId: string
    certificateId: string
    status: string
    /** Certificate with which the device itself announced this one. */
    predecessorId?: string
    /** Another device on which the certificate is active, if it is `Pending` for that reason. */
    activeOnDeviceId?: string
  }>({ ids: ['projectId', 'deviceId', 'certificateId', 'predecessorId', 'activeOnDeviceId'] }),
  /** Written by `devices_DeleteCertificate`. */
  devices_CertificateDeleted: event<{ projectId: string; deviceId: string; certificateId: string }>({
    ids: ['projectId', 'deviceId', 'certificateId'],
  }),
  /** Written by `devices_SetCertificateStatus`, for each successor that is revoked with a certificate, and by bulk actions. */
  devices_CertificateStatusChanged: event<{
    projectId: string
    deviceId: string
    certificateId: string
    status: string
  }>({ ids: ['projectId', 'deviceId', 'certificateId'] }),
}

/** Certificates of devices and the decisions on them. */
export const approvals = defineFeature({ actions, events, owners })
