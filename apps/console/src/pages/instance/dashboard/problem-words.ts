import { counted, formatBytes, formatPercent } from '../../../lib/app/format.ts'
import { atInWords, dayInYear, hourAndMinute, sinceInWords } from '../../../lib/app/local-time.ts'
import { failureSentence } from '../jobs/job-sentences.ts'
import type { Problem } from './health.ts'

/** Texts for a problem: `said` is shown in bold, `more` after it in the same line, and `note` in a second line. */
export type ProblemWords = { said: string; more?: string; note?: string }

const DAY_MS = 24 * 60 * 60 * 1000

/** Sentences for a problem of the instance. */
export function problemWords(problem: Problem, nowMs: number): ProblemWords {
  switch (problem.kind) {
    case 'JobFailing': {
      const { job, since, count, lastError } = problem
      return {
        said: failureSentence(job, undefined, nowMs),
        ...(lastError !== undefined && { more: asSentence(lastError) }),
        note:
          count === 1
            ? `Once, ${atInWords(Date.parse(since), nowMs)}.`
            : `Since ${sinceInWords(Date.parse(since), nowMs)}, ${counted(count, 'run')} in a row.`,
      }
    }
    case 'CertificateEnding': {
      const endsMs = Date.parse(problem.endsAt)
      const days = Math.floor((endsMs - nowMs) / DAY_MS)
      const end = `${dayInYear(endsMs, nowMs)}, ${hourAndMinute(endsMs)}`
      return endsMs <= nowMs
        ? {
            said: `The certificate of ${problem.name} has ended,`,
            more: `on ${end}.`,
            note: 'Devices and people are refused until it is renewed.',
          }
        : {
            said: `The certificate of ${problem.name} ends ${days === 0 ? 'today' : `in ${counted(days, 'day')}`},`,
            more: `on ${end}.`,
            note: 'Devices and people are refused after that.',
          }
    }
    case 'FirstPassword': {
      const endsMs = Date.parse(problem.endsAt)
      const end = `${dayInYear(endsMs, nowMs)}, ${hourAndMinute(endsMs)}`
      return {
        said: `${problem.email} still has the password of the first start.`,
        more: endsMs <= nowMs ? `It ended on ${end}.` : `It ends on ${end}.`,
        note: `Change it under Settings, Security, or run muster-hub admin reset-password ${problem.email}.`,
      }
    }
    case 'DiskFilling': {
      const { freeBytes, totalBytes } = problem.disk
      return {
        said: `The disk of ${problem.nodeName} is ${formatPercent(1 - freeBytes / totalBytes)} full.`,
        more: `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} are left.`,
        ...(problem.fullAt !== undefined && {
          note: `At the growth of the last 7 days it is full on ${dayInYear(Date.parse(problem.fullAt), nowMs)}.`,
        }),
      }
    }
    case 'NodeSilent':
      return {
        said: `The node ${problem.nodeName} does not answer.`,
        more: `Its last heartbeat came ${atInWords(Date.parse(problem.lastHeartbeat), nowMs)}.`,
        note: 'Other nodes marked it as dead. Its devices connect to a running node.',
      }
    case 'BusAway': {
      const { nodeName, bus, failure, since } = problem
      return {
        said: `The node ${nodeName} gets no messages from other nodes.`,
        more: `${bus} is out of reach${failure === undefined ? '' : ` (${failure})`}.`,
        note: `Since ${sinceInWords(Date.parse(since), nowMs)}. Changes on other nodes arrive later, by polling.`,
      }
    }
    case 'BackupLost': {
      const { state, path, takenAt } = problem
      return {
        said: `The file of the last backup ${state === 'Missing' ? 'is gone' : 'was changed'}:`,
        more: `${path}.`,
        note: `It was taken ${atInWords(Date.parse(takenAt), nowMs)}. Make a new one.`,
      }
    }
    case 'BackupMissing':
      return problem.takenAt === undefined
        ? {
            said: 'This instance was never backed up.',
            more: 'A lost disk loses all of it.',
            note: 'Run muster-hub backup, and enable its timer for every night.',
          }
        : {
            said: `The last backup is ${counted(Math.floor((nowMs - Date.parse(problem.takenAt)) / DAY_MS), 'day')} old.`,
            note: 'Look at the timer that makes them, or make one with muster-hub backup.',
          }
    case 'SealBroken':
      return {
        said: 'The audit log is not intact.',
        more: asSentence(problem.problem),
        note: `Found ${atInWords(Date.parse(problem.since), nowMs)}.`,
      }
    case 'VersionsDiffer':
      return {
        said: `The nodes run ${problem.versions.length} versions:`,
        more: `${problem.versions.join(' and ')}.`,
        note: `Since ${sinceInWords(Date.parse(problem.since), nowMs)}. Finish the upgrade.`,
      }
    case 'SettingsRetired':
      return {
        said: `The node ${problem.nodeName} ignores ${problem.settings.length === 1 ? 'a retired setting' : 'retired settings'}:`,
        more: `${problem.settings.join(', ')}.`,
        note: 'Remove what is set. The next release does not start with it in its configuration file.',
      }
    // This page may be older than the hub.
    default:
      return { said: 'A newer release reports a problem.', more: 'Reload the page.' }
  }
}

/** A message with a capital letter and a period. */
function asSentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
