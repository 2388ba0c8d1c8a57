import { clockTime, sinceInWords } from '../../../lib/app/local-time.ts'
import { lookUp } from '../../../lib/app/look-up.ts'
import type { Words } from '../shared/words.ts'
import type { Job } from './job.ts'
import { JOB_WORDS } from './job-words.ts'

/** Words for a kind of job, `undefined` if the console does not know it. */
export function wordsOf(job: string): Words | undefined {
  return lookUp<Words | undefined>(JOB_WORDS, job, undefined)
}

/** Name of a kind of job in words, or its machine name if the console does not know it. */
export function jobName(job: string): string {
  return wordsOf(job)?.name ?? job
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
  const failed = wordsOf(job)?.failed ?? `A job of the kind ${job} failed`
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
