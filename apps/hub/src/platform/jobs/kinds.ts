import type { JobName } from './jobs.ts'

/** Timeout, retries and interval of a kind of job. */
export type JobKind = {
  /** Deadline of an attempt in seconds. An attempt beyond it counts as expired, even if its code still runs. */
  timeoutSecs: number
  /** Attempts after the first one. */
  retryLimit: number
  /** Minimum pause before the second attempt in seconds. It doubles with each further attempt. */
  retryDelaySecs: number
  /** Interval of a recurring job in seconds, shared by all nodes; undefined for jobs that are queued on demand. */
  everySecs?: number
  /** True if an administrator may run a failed job again at any later time. The job then does only what is still to be done. */
  isRepeatable: boolean
  /** True if the job sends mail or changes devices. A restore cancels such jobs, because they may have run after the backup. */
  isCancelledByRestore?: true
}

const HOUR_SECS = 60 * 60

// The deadline exceeds the sum of the SMTP timeouts, 90 s. The pauses between attempts add up to between 30 and 60 min.
const MAIL: JobKind = {
  timeoutSecs: 120,
  retryLimit: 5,
  retryDelaySecs: 60,
  isRepeatable: true,
  isCancelledByRestore: true,
}

// A failed recurring job runs again at its next interval. The second attempt is for a job that a stopping hub returned to the
// queue.
const RECURRING = { retryLimit: 1, retryDelaySecs: 30, isRepeatable: true }

/** Timeouts, retries and intervals of all kinds of jobs. */
export const JOB_KINDS: Record<JobName, JobKind> = {
  users_SendRegistrationEmail: MAIL,
  users_SendPasswordEmail: MAIL,
  // The mail warns of a change that has just been made. Days later it would alarm its reader without a cause.
  users_SendPasswordChangedEmail: { ...MAIL, isRepeatable: false },
  // The first run after an upgrade reads every account. Later runs find accounts that nodes of an older release have made.
  users_FillCanonicalEmails: { ...RECURRING, timeoutSecs: 600, everySecs: HOUR_SECS },
  organizations_SendInvitationEmail: MAIL,
  instance_CleanupExpired: { ...RECURRING, timeoutSecs: 600, everySecs: HOUR_SECS },
  instance_SampleSize: { ...RECURRING, timeoutSecs: 120, everySecs: 24 * HOUR_SECS },
  // Dropping or moving the rows of a day takes minutes for a large fleet.
  instance_MaintainPartitions: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  // Deleting the devices and events of a large project takes minutes.
  devices_SweepHistory: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  // The job reads every stored row of each device that is over a limit, which may take minutes.
  devices_MeasureStored: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  // The first run after an upgrade of the hub adds a row of `device_update` for every device, which takes minutes for a large
  // fleet. Later runs read a bounded number of devices each.
  devices_FillUpdates: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  // Like `devices_FillUpdates`, for the rows of `device_address`.
  devices_FillAddresses: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  // A large bulk action queues this job when it starts. The run every 5 min continues bulk actions of nodes that have stopped.
  devices_RunBulkActions: { ...RECURRING, timeoutSecs: 1500, everySecs: 5 * 60, isCancelledByRestore: true },
  // A project gets one count in 10 minutes. The job runs twice as often, so that a late run leaves no gap.
  projects_SampleConnected: { ...RECURRING, timeoutSecs: 120, everySecs: 5 * 60 },
  // A project gets one count an hour. The job runs twice as often, so that a late run leaves no gap.
  projects_SampleSoftware: { ...RECURRING, timeoutSecs: 600, everySecs: 30 * 60 },
  // An unreachable object store costs a timeout for each blob, so the job may take minutes.
  repositories_SweepBlobs: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  audit_SealRows: { ...RECURRING, timeoutSecs: 120, everySecs: 5 * 60 },
  audit_RemoveSealed: { ...RECURRING, timeoutSecs: 1500, everySecs: 24 * HOUR_SECS },
  // The first run verifies the whole chain. The result of each portion is stored, so a later run continues where an attempt ended.
  audit_VerifySeals: { ...RECURRING, timeoutSecs: 1500, everySecs: 24 * HOUR_SECS },
}

/** Whether an administrator may run a failed job of this kind again. Jobs of kinds that the hub no longer has cannot run. */
export function isRepeatable(name: string): boolean {
  return Object.hasOwn(JOB_KINDS, name) && JOB_KINDS[name as JobName].isRepeatable
}
