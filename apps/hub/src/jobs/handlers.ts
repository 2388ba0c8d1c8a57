import { instance_CleanupExpired } from '../features/instance/jobs/CleanupExpired.ts'
import { devices_FillAddresses } from '../features/devices/jobs/FillAddresses.ts'
import { users_FillCanonicalEmails } from '../features/accounts/jobs/FillCanonicalEmails.ts'
import { devices_FillUpdates } from '../features/devices/jobs/FillUpdates.ts'
import type { JobHandler } from '../platform/jobs/job-handler.ts'
import type { JobName } from '../platform/jobs/jobs.ts'
import { instance_MaintainPartitions } from '../features/instance/jobs/MaintainPartitions.ts'
import { devices_MeasureStored } from '../features/devices/jobs/MeasureStored.ts'
import { audit_RemoveSealed } from '../features/audit/jobs/RemoveSealed.ts'
import { devices_RunBulkActions } from '../features/bulk/jobs/RunBulkActions.ts'
import { projects_SampleConnected } from '../features/devices/jobs/SampleConnected.ts'
import { instance_SampleSize } from '../features/instance/jobs/SampleSize.ts'
import { projects_SampleSoftware } from '../features/software/jobs/SampleSoftware.ts'
import { audit_SealRows } from '../features/audit/jobs/SealRows.ts'
import { organizations_SendInvitationEmail } from '../features/organizations/jobs/SendInvitationEmail.ts'
import { users_SendPasswordChangedEmail } from '../features/accounts/jobs/SendPasswordChangedEmail.ts'
import { users_SendPasswordEmail } from '../features/accounts/jobs/SendPasswordEmail.ts'
import { users_SendRegistrationEmail } from '../features/accounts/jobs/SendRegistrationEmail.ts'
import { repositories_SweepBlobs } from '../features/repositories/jobs/SweepBlobs.ts'
import { devices_SweepHistory } from '../features/devices/jobs/SweepHistory.ts'
import { audit_VerifySeals } from '../features/audit/jobs/VerifySeals.ts'

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
