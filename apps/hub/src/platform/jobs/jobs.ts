import type { PasswordChanger } from '../../features/accounts/password-changed-mail.ts'
import type { Tx } from '../database/client/connection.ts'

/** Kinds of background jobs with their data. Data never hold a secret, since jobs are listed and kept. */
export type JobData = {
  users_SendRegistrationEmail: { jwtId: string }
  users_SendPasswordEmail: { jwtId: string }
  users_FillCanonicalEmails: Nothing
  users_SendPasswordChangedEmail: { userId: string; by: PasswordChanger; changedAt: string }
  organizations_SendInvitationEmail: { invitationId: string }
  instance_CleanupExpired: Nothing
  instance_MaintainPartitions: Nothing
  instance_SampleSize: Nothing
  devices_SweepHistory: Nothing
  devices_MeasureStored: Nothing
  devices_FillUpdates: Nothing
  devices_FillAddresses: Nothing
  devices_RunBulkActions: Nothing
  projects_SampleConnected: Nothing
  projects_SampleSoftware: Nothing
  repositories_SweepBlobs: Nothing
  audit_SealRows: Nothing
  audit_RemoveSealed: Nothing
  audit_VerifySeals: Nothing
}
type Nothing = Record<never, never>
/** Name of a kind of job. */
export type JobName = keyof JobData

/** Job queue, as action handlers use it. */
export type Jobs = {
  /** Queues a job that runs only if this transaction commits; returns its id. */
  enqueue<N extends JobName>(tx: Tx, job: N, data: JobData[N]): Promise<string>
  /** Makes this node poll for jobs of a kind immediately. Call it after the commit. */
  wake(job: JobName): void
}
