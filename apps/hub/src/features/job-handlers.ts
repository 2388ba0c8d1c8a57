import type { JobHandler } from '../platform/jobs/job-handler.ts'
import type { JobName } from '../platform/jobs/jobs.ts'
import { users_FillCanonicalEmails } from './accounts/jobs/FillCanonicalEmails.ts'
import { users_SendPasswordChangedEmail } from './accounts/jobs/SendPasswordChangedEmail.ts'
import { users_SendPasswordEmail } from './accounts/jobs/SendPasswordEmail.ts'
import { users_SendRegistrationEmail } from './accounts/jobs/SendRegistrationEmail.ts'
import { audit_RemoveSealed } from './audit/jobs/RemoveSealed.ts'
import { audit_SealRows } from './audit/jobs/SealRows.ts'
import { audit_VerifySeals } from './audit/jobs/VerifySeals.ts'
import { devices_RunBulkActions } from './bulk/jobs/RunBulkActions.ts'
import { devices_FillAddresses } from './devices/jobs/FillAddresses.ts'
import { devices_FillUpdates } from './devices/jobs/FillUpdates.ts'
import { devices_MeasureStored } from './devices/jobs/MeasureStored.ts'
import { projects_SampleConnected } from './devices/jobs/SampleConnected.ts'
import { devices_SweepHistory } from './devices/jobs/SweepHistory.ts'
import { instance_CleanupExpired } from './instance/jobs/CleanupExpired.ts'
import { instance_MaintainPartitions } from './instance/jobs/MaintainPartitions.ts'
import { instance_SampleSize } from './instance/jobs/SampleSize.ts'
import { organizations_SendInvitationEmail } from './organizations/jobs/SendInvitationEmail.ts'
import { repositories_SweepBlobs } from './repositories/jobs/SweepBlobs.ts'
import { projects_SampleSoftware } from './software/jobs/SampleSoftware.ts'

/** Handlers of all kinds of jobs. */
export const jobHandlers: { [N in JobName]: JobHandler<N> } = {
  users_SendRegistrationEmail,
  users_SendPasswordEmail,
  users_SendPasswordChangedEmail,
  users_FillCanonicalEmails,
  organizations_SendInvitationEmail,
  instance_CleanupExpired,
  instance_MaintainPartitions,
  instance_SampleSize,
  devices_SweepHistory,
  devices_MeasureStored,
  devices_FillUpdates,
  devices_FillAddresses,
  devices_RunBulkActions,
  projects_SampleConnected,
  projects_SampleSoftware,
  repositories_SweepBlobs,
  audit_SealRows,
  audit_RemoveSealed,
  audit_VerifySeals,
}
