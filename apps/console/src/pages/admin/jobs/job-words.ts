import { clockTime, sinceInWords } from '../../../lib/app/local-time.ts'
import type { Job } from './job.ts'

type Words = {
  /** Name of the kind of job, in the imperative. */
  name: string
  /** Work that is not done while jobs of this kind fail, as a sentence without its period. */
  failed: string
  /** Consequence of the failure. */
  harm?: string
}

const NOT_LOST = 'Nothing is lost: they stay until a run succeeds.'

/** Words for the kinds of jobs. A test compares the names with docs/operating.md. */
export const JOB_WORDS: Record<string, Words> = {
  users_SendRegistrationEmail: { name: 'Send an activation link', failed: 'An activation link was not sent' },
  users_SendPasswordEmail: {
    name: 'Send a link to set a password',
    failed: 'A link to set a password was not sent',
  },
  users_SendPasswordChangedEmail: {
    name: 'Report a new password',
    failed: 'The mail about a new password was not sent',
  },
  users_FillCanonicalEmails: {
    name: 'Copy addresses of accounts',
    failed: 'Addresses of accounts cannot be copied in their canonical form',
    harm: 'Accounts from before an upgrade are found by the former rules.',
  },
  organizations_SendInvitationEmail: { name: 'Send an invitation', failed: 'An invitation was not sent' },
  instance_CleanupExpired: {
    name: 'Remove expired sessions and links',
    failed: 'Expired sessions and links cannot be removed',
    harm: NOT_LOST,
  },
  instance_SampleSize: {
    name: 'Sample the size of the database',
    failed: 'The size of the database is not sampled',
  },
  instance_MaintainPartitions: {
    name: 'Maintain partitions',
    failed: 'Partitions of the coming days cannot be created',
    harm: 'Events are still stored, but old ones are not removed.',
  },
  devices_SweepHistory: {
    name: 'Sweep device history',
    failed: 'Data of deleted devices cannot be removed',
    harm: NOT_LOST,
  },
  devices_MeasureStored: {
    name: 'Measure stored data',
    failed: 'The data of projects cannot be measured',
    harm: 'Budgets of stored data are not checked until a run succeeds.',
  },
  devices_FillUpdates: {
    name: 'Copy update statuses',
    failed: 'Update statuses cannot be copied for the device list',
  },
  devices_FillAddresses: { name: 'Copy addresses', failed: 'Addresses cannot be copied for the search' },
  devices_RunBulkActions: {
    name: 'Run bulk actions',
    failed: 'Bulk actions are paused',
    harm: 'A retry continues with the rest of their lists.',
  },
  projects_SampleConnected: {
    name: 'Sample connected devices',
    failed: 'The line of the last 24 h gets no new counts',
  },
  projects_SampleSoftware: {
    name: 'Sample software',
    failed: 'The history of versions gets no new counts',
  },
  repositories_SweepBlobs: {
    name: 'Remove unused files',
    failed: 'Unused files cannot be removed',
    harm: NOT_LOST,
  },
  audit_SealRows: {
    name: 'Seal audit rows',
    failed: 'Audit rows are not sealed',
    harm: 'They wait for the next run.',
  },
  audit_RemoveSealed: {
    name: 'Remove old audit rows',
    failed: 'Old audit rows cannot be removed',
    harm: NOT_LOST,
  },
  audit_VerifySeals: { name: 'Verify seals', failed: 'The seals cannot be verified' },
}

/** Name of a kind of job in words, or its machine name if the console does not know it. */
export function jobName(job: string): string {
  return JOB_WORDS[job]?.name ?? job
}

/** Last error of a job, with a capital letter. The two errors that pg-boss stores when it ends an attempt itself are explained. */
function errorInWords({ lastError, timeout }: Pick<Job, 'lastError' | 'timeout'>): string | undefined {
  if (lastError === 'job timed out')
    return `Did not end within its ${timeInWords(timeout)}: it took too long, or its node stopped`
  if (lastError === 'pg-boss shut down while active') return 'Its node stopped'
  return lastError && lastError.charAt(0).toUpperCase() + lastError.slice(1)
}

function timeInWords(secs: number): string {
  return secs < 120 ? `${secs} s` : `${Math.round(secs / 60)} min`
}

/** Last error of a job, and for a waiting job its next attempt, as a sentence without its period. Undefined without an error. */
export function errorSentence(job: Job): string | undefined {
  const error = errorInWords(job)
  if (error === undefined || job.status !== 'Pending') return error
  const { nextAttemptAt } = job
  return nextAttemptAt !== undefined && Date.parse(nextAttemptAt) > Date.now()
    ? `Next attempt at ${clockTime(Date.parse(nextAttemptAt))}: ${error}`
    : `Being tried again. Last attempt: ${error}`
}

/** Work that is not done while jobs of a kind fail, and since when: "Unused files cannot be removed since 04:10." */
export function failureSentence(job: string, since: string | undefined, nowMs: number): string {
  const failed = JOB_WORDS[job]?.failed ?? `A job of the kind ${job} failed`
  return `${failed}${since === undefined ? '' : ` since ${sinceInWords(Date.parse(since), nowMs)}`}.`
}

/** Interval of a recurring kind: "every 5 min", "hourly", "daily". */
export function intervalInWords(everySecs: number | undefined): string {
  if (everySecs === undefined) return 'when needed'
  if (everySecs === 24 * 60 * 60) return 'daily'
  if (everySecs === 60 * 60) return 'hourly'
  return `every ${everySecs % 3600 === 0 ? `${everySecs / 3600} h` : timeInWords(everySecs)}`
}

/** A time of the coming days: "09:20:00", "tomorrow, 03:00:00", "in 2 days, 03:00:00". */
export function comingTime(atMs: number, nowMs: number): string {
  const days = Math.round(
    (new Date(atMs).setHours(0, 0, 0, 0) - new Date(nowMs).setHours(0, 0, 0, 0)) / 86_400_000,
  )
  return days === 0 ? clockTime(atMs) : `${days === 1 ? 'tomorrow' : `in ${days} days`}, ${clockTime(atMs)}`
}
