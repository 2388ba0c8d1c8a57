import type { JobName } from './jobs.ts'

/** How jobs of a kind run. */
export type JobKind = {
  /** How long an attempt may take, in seconds; one that takes longer is over, whatever it still does. */
  timeoutSecs: number
  /** Attempts after the first one. */
  retryLimit: number
  /** Least pause before the second attempt in seconds; it doubles with each further one. */
  retryDelaySecs: number
  /** Runs by itself, once in each stretch of so many seconds over all nodes; nothing for jobs that something queues. */
  everySecs?: number
}

const HOUR_SECS = 60 * 60

// Longer than the mail server's time limits together. The pauses add up to between half an hour and an hour.
const MAIL: JobKind = { timeoutSecs: 120, retryLimit: 5, retryDelaySecs: 60 }

// A job that runs by itself and fails has its turn again soon; the second attempt is for one that a stopping hub gave back.
const RECURRING = { retryLimit: 1, retryDelaySecs: 30 }

/** The one table of kinds of jobs. */
export const JOB_KINDS: Record<JobName, JobKind> = {
  users_SendRegistrationEmail: MAIL,
  users_SendPasswordEmail: MAIL,
  users_SendPasswordChangedEmail: MAIL,
  organizations_SendInvitationEmail: MAIL,
  instance_CleanupExpired: { ...RECURRING, timeoutSecs: 600, everySecs: HOUR_SECS },
  // Dropping and moving a day of many devices takes its time.
  instance_MaintainPartitions: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  // The devices and events of a large fleet take their time.
  devices_SweepHistory: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  // Devices over their budgets are measured row by row.
  devices_MeasureStored: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  // A store that is out of reach takes its time for each blob.
  repositories_SweepBlobs: { ...RECURRING, timeoutSecs: 1500, everySecs: 10 * 60 },
  audit_SealRows: { ...RECURRING, timeoutSecs: 120, everySecs: 5 * 60 },
  audit_RemoveSealed: { ...RECURRING, timeoutSecs: 1500, everySecs: 24 * HOUR_SECS },
}
