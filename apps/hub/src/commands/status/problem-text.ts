import type { HandlerOutput } from '@muster/actions'
import { bytesText, durationText, shareText, timeText } from './figures.ts'

/** Problem of the instance, as the dashboard lists it. */
type Problem = HandlerOutput<'instance_GetHealth'>['problems'][number]

/** A problem of the instance in one line, with what to do where that is not in the documents of its part. */
export function problemText(problem: Problem, nowMs: number): string {
  switch (problem.kind) {
    case 'JobFailing': {
      const { job, count, since, lastError } = problem
      const reason = lastError === undefined ? '' : `: ${firstLine(lastError)}`
      return `The job ${job} has failed since ${at(since)}, ${count} times in a row${reason}`
    }
    case 'CertificateEnding':
      return `The certificate of ${problem.name} ${Date.parse(problem.endsAt) <= nowMs ? 'ended' : 'ends'} at ${at(problem.endsAt)}.`
    case 'FirstPassword':
      return `The first password of ${problem.email} ${Date.parse(problem.endsAt) <= nowMs ? 'ended' : 'ends'} at ${at(problem.endsAt)}: set another with muster-hub admin reset-password ${problem.email}.`
    case 'DiskFilling': {
      const { nodeName, disk, fullAt } = problem
      const growth =
        fullAt === undefined ? '' : ` At the growth of the last 7 days it is full on ${fullAt.slice(0, 10)}.`
      return `The disk of ${nodeName} is ${shareText(1 - disk.freeBytes / disk.totalBytes)} full; ${bytesText(disk.freeBytes)} are left.${growth}`
    }
    case 'NodeSilent':
      return `The node ${problem.nodeName} does not answer since ${at(problem.lastHeartbeat)}.`
    case 'BusAway': {
      const { nodeName, bus, failure, since } = problem
      return `The node ${nodeName} gets no messages from other nodes since ${at(since)}: ${bus} is out of reach${failure === undefined ? '' : ` (${failure})`}.`
    }
    case 'BackupLost': {
      const { state, path, takenAt } = problem
      return `The file of the last backup, of ${at(takenAt)}, ${state === 'Missing' ? 'is gone' : 'was changed'}: ${path}. Make a new one.`
    }
    case 'BackupMissing':
      return problem.takenAt === undefined
        ? 'This instance was never backed up: run muster-hub backup, and enable its timer for every night.'
        : `The last backup is ${durationText((nowMs - Date.parse(problem.takenAt)) / 1000)} old: look at the timer that makes them.`
    case 'SealBroken':
      return `The audit log is not intact: ${firstLine(problem.problem)}`
    case 'VersionsDiffer':
      return `The nodes run ${problem.versions.join(' and ')} since ${at(problem.since)}: finish the upgrade.`
    case 'SettingsRetired':
      return `The node ${problem.nodeName} ignores retired settings: ${problem.settings.join(', ')}. Remove them.`
  }
}

function at(time: string): string {
  return timeText(Date.parse(time))
}

/** First line of a text that may come from another program. */
function firstLine(text: string): string {
  return text.split('\n')[0]!
}
