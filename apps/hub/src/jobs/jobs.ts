import type { Tx } from '../database/client/connection.ts'
import type { PasswordChanger } from '../mail/password-changed.ts'

/** Every kind of background job and the data it carries; never a secret, since jobs are listed and kept. */
export type JobData = {
  users_SendRegistrationEmail: { jwtId: string }
  users_SendPasswordEmail: { jwtId: string }
  users_SendPasswordChangedEmail: { userId: string; by: PasswordChanger; changedAt: string }
  organizations_SendInvitationEmail: { invitationId: string }
  instance_CleanupExpired: Nothing
  instance_MaintainPartitions: Nothing
  devices_SweepHistory: Nothing
  devices_MeasureStored: Nothing
  repositories_SweepBlobs: Nothing
  audit_SealRows: Nothing
  audit_RemoveSealed: Nothing
}
type Nothing = Record<never, never>
export type JobName = keyof JobData

/** The queue as handlers see it. */
export type Jobs = {
  /** Queues a job that runs only if this transaction commits; returns its id. */
  enqueue<N extends JobName>(tx: Tx, job: N, data: JobData[N]): Promise<string>
  /** Makes this node look for jobs of a kind now and not at its next poll; for after the commit. */
  wake(job: JobName): void
}
