import type { HandlerOutput, NodeFacts } from '@muster/actions'

type Problem = HandlerOutput<'instance_GetHealth'>['problems'][number]
type Kind = HandlerOutput<'jobs_GetSummary'>['kinds'][number]
type Backup = NonNullable<HandlerOutput<'instance_GetHealth'>['backup']['value']>['last']
type Node = { name: string; uptimeSecs: number; facts?: NodeFacts | undefined }

/** Facts from which the problems of the instance follow. An unreadable part is empty or undefined. */
type Findings = {
  nowMs: number
  kinds: readonly Kind[]
  nodes: readonly Node[]
  silentNodes: readonly { name: string; lastHeartbeat: Date }[]
  /** Growth of the database in bytes a day; undefined unless the database is on the disk of the hub. */
  growthBytesPerDay: number | undefined
  brokenSeal: { problem: string; verifiedAt: string } | undefined
  /** The generated password of the first administrator while it is in use and ends. */
  firstPassword: { email: string; endsAt: Date } | undefined
  /** Undefined if it could not be read. */
  backups: { last: Backup | undefined; instanceStartedAt: string } | undefined
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Days before the expiry of a certificate from which it is a problem (`warn`), and from which the problem is urgent (`bad`). */
const CERTIFICATE_DAYS = { warn: 21, bad: 3 }
/** Time before the end of the first password from which it is urgent, in milliseconds: two days. */
const FIRST_PASSWORD_URGENT_MS = 2 * DAY_MS
/** Shares of free space below which a disk is a problem (`warn`), and below which the problem is urgent (`bad`). */
const FREE_SHARE = { warn: 0.15, bad: 0.05 }
/** A disk that will be full within this number of days is a problem. */
const FULL_DAYS = 30
/** Time for which nodes of different versions may run, as during an upgrade, in milliseconds: an hour. */
const UPGRADE_MS = 60 * 60 * 1000
/**
 * Age of an instance without any backup, and of the last backup, at which a backup is missing, in milliseconds: an hour to set the instance
 * up, and two nights, as the alert `MusterBackupOld` has it.
 */
const BACKUP_MS = { first: 60 * 60 * 1000, next: 2 * DAY_MS }

/** Problems of the instance: urgent problems first, then by age. */
export function problemsOf(findings: Findings): Problem[] {
  const found = [
    ...failingJobs(findings),
    ...brokenSeals(findings),
    ...silentNodes(findings),
    ...lostBackups(findings),
    ...missingBackups(findings),
    ...awayBuses(findings),
    ...endingCertificates(findings),
    ...firstPasswords(findings),
    ...fillingDisks(findings),
    ...differentVersions(findings),
    ...retiredSettings(findings),
  ]
  const sinceOf = (problem: Problem): string => ('since' in problem ? problem.since : '9')
  return found.sort(
    (a, b) => Number(a.level === 'warn') - Number(b.level === 'warn') || sinceOf(a).localeCompare(sinceOf(b)),
  )
}

function failingJobs({ kinds }: Findings): Problem[] {
  return kinds.flatMap(({ job, failing }) =>
    failing
      ? [
          {
            kind: 'JobFailing',
            level: 'bad',
            since: failing.since,
            job,
            jobId: failing.lastJobId,
            count: failing.count,
            lastError: failing.lastError,
          },
        ]
      : [],
  )
}

function brokenSeals({ brokenSeal }: Findings): Problem[] {
  return brokenSeal
    ? [{ kind: 'SealBroken', level: 'bad', since: brokenSeal.verifiedAt, problem: brokenSeal.problem }]
    : []
}

function lostBackups({ backups }: Findings): Problem[] {
  const { path, state } = backups?.last?.file ?? {}
  if (path === undefined || (state !== 'Missing' && state !== 'Changed')) return []
  return [{ kind: 'BackupLost', level: 'bad', takenAt: backups!.last!.takenAt, path, state }]
}

function missingBackups({ backups, nowMs }: Findings): Problem[] {
  if (!backups) return []
  const takenAt = backups.last?.takenAt
  const ageMs = nowMs - Date.parse(takenAt ?? backups.instanceStartedAt)
  if (ageMs <= (takenAt === undefined ? BACKUP_MS.first : BACKUP_MS.next)) return []
  return [{ kind: 'BackupMissing', level: 'warn', ...(takenAt !== undefined && { takenAt }) }]
}

function silentNodes({ silentNodes: nodes }: Findings): Problem[] {
  return nodes.map(({ name, lastHeartbeat }) => ({
    kind: 'NodeSilent',
    level: 'bad',
    nodeName: name,
    lastHeartbeat: lastHeartbeat.toISOString(),
  }))
}

function retiredSettings({ nodes }: Findings): Problem[] {
  return nodes.flatMap(({ name, facts }) =>
    facts?.retiredSettings
      ? [{ kind: 'SettingsRetired', level: 'warn', nodeName: name, settings: facts.retiredSettings }]
      : [],
  )
}

function awayBuses({ nodes }: Findings): Problem[] {
  return nodes.flatMap(({ name, facts }) => {
    const { kind, awaySince, failure } = facts?.bus ?? {}
    if (kind === undefined || awaySince === undefined) return []
    return [{ kind: 'BusAway', level: 'warn', since: awaySince, nodeName: name, bus: kind, failure }]
  })
}

function endingCertificates({ nodes, nowMs }: Findings): Problem[] {
  const ends = new Map<string, string>()
  for (const { facts } of nodes)
    for (const { names, endsAt } of facts?.certificates ?? []) {
      const before = ends.get(names[0]!)
      if (before === undefined || endsAt < before) ends.set(names[0]!, endsAt)
    }
  return [...ends].flatMap(([name, endsAt]) => {
    const days = (Date.parse(endsAt) - nowMs) / DAY_MS
    if (days > CERTIFICATE_DAYS.warn) return []
    return [{ kind: 'CertificateEnding', level: days <= CERTIFICATE_DAYS.bad ? 'bad' : 'warn', name, endsAt }]
  })
}

function firstPasswords({ firstPassword, nowMs }: Findings): Problem[] {
  if (!firstPassword) return []
  const { email, endsAt } = firstPassword
  const isUrgent = endsAt.getTime() - nowMs < FIRST_PASSWORD_URGENT_MS
  return [{ kind: 'FirstPassword', level: isUrgent ? 'bad' : 'warn', email, endsAt: endsAt.toISOString() }]
}

function fillingDisks({ nodes, growthBytesPerDay = 0, nowMs }: Findings): Problem[] {
  return nodes.flatMap(({ name, facts }) => {
    const disk = facts?.disk
    if (!disk || disk.totalBytes === 0) return []
    const share = disk.freeBytes / disk.totalBytes
    const days = growthBytesPerDay > 0 ? disk.freeBytes / growthBytesPerDay : Number.POSITIVE_INFINITY
    if (share >= FREE_SHARE.warn && days > FULL_DAYS) return []
    return [
      {
        kind: 'DiskFilling',
        level: share < FREE_SHARE.bad ? 'bad' : 'warn',
        nodeName: name,
        disk,
        // Growth over 7 days does not predict more than a year.
        ...(days <= 365 && { fullAt: new Date(nowMs + days * DAY_MS).toISOString() }),
      },
    ]
  })
}

function differentVersions({ nodes, nowMs }: Findings): Problem[] {
  const versions = [...new Set(nodes.flatMap(({ facts }) => (facts ? [facts.version] : [])))].sort()
  // The versions have differed since the start of the youngest node, or longer.
  const sinceMs = nowMs - 1000 * Math.min(...nodes.map(({ uptimeSecs }) => uptimeSecs))
  if (versions.length < 2 || nowMs - sinceMs < UPGRADE_MS) return []
  return [{ kind: 'VersionsDiffer', level: 'warn', since: new Date(sinceMs).toISOString(), versions }]
}
