import type { HandlerOutput } from '@muster/actions'
import { readLastBackup } from '../../platform/backup/last-backup.ts'
import { stateOfNodes } from '../../platform/backup/last-backup-file.ts'
import type { FirstPassword } from '../../platform/credentials/first-password.ts'
import { runBrief } from '../../platform/database/client/brief.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import {
  readDatabase,
  readEvents,
  readInstanceStart,
  readNodes,
  readPeople,
  readSeals,
  readSilentNodes,
} from './health.ts'
import { summarizeJobs } from './job-summary.ts'
import { problemsOf } from './problems.ts'

/** Value of one part of the health, or the reason why it could not be read. */
type Part<Value> = { value?: Value; failure?: string }

/**
 * Reads the health of the instance, for the dashboard and `muster-hub status`. For a part that cannot be read, the answer has the reason
 * instead, and all other parts. `isDatabaseOnDisk` is true if the database grows on the disk of the hub.
 */
export async function readHealth(
  db: Db,
  signal: AbortSignal,
  { isDatabaseOnDisk, firstPassword }: { isDatabaseOnDisk: boolean; firstPassword: FirstPassword },
): Promise<HandlerOutput<'instance_GetHealth'>> {
  const nowMs = Date.now()
  const brief = <Value>(read: Parameters<typeof runBrief<Value>>[2]): Promise<Part<Value>> =>
    readable(() => runBrief(db, signal, read), signal)
  const people = await brief(readPeople)
  const nodes = await brief(readNodes)
  const silent = await brief(readSilentNodes)
  const events = await brief(tx => readEvents(tx, nodes.value ?? []))
  const database = await brief(readDatabase)
  const jobs = await brief(summarizeJobs)
  const backup = await brief(async tx => {
    const last = await readLastBackup(tx)
    if (!last) return {}
    const { takenAt, sizeBytes, isVerified } = last
    const file = stateOfNodes(last, nodes.value ?? [])
    return { last: { takenAt, sizeBytes, isVerified, file } }
  })
  const instanceStart = await brief(readInstanceStart)
  const generated = await brief(async tx => firstPassword.state(tx))
  const seals = await readable(() => readSeals(db), signal)
  const { value: sealed, problem } = seals.value ?? {}
  return {
    checkedAt: new Date(nowMs).toISOString(),
    problems: problemsOf({
      nowMs,
      kinds: jobs.value?.kinds ?? [],
      nodes: nodes.value ?? [],
      silentNodes: silent.value ?? [],
      growthBytesPerDay: isDatabaseOnDisk ? database.value?.growthBytesPerDay : undefined,
      brokenSeal:
        problem !== undefined && sealed?.verifiedAt ? { problem, verifiedAt: sealed.verifiedAt } : undefined,
      backups:
        backup.value && instanceStart.value !== undefined
          ? { last: backup.value.last, instanceStartedAt: instanceStart.value }
          : undefined,
      firstPassword: generated.value,
    }),
    people,
    nodes,
    events: nodes.failure === undefined ? events : { failure: nodes.failure },
    database,
    jobs: jobs.value
      ? { value: { failedCount: jobs.value.counts.Failed + jobs.value.counts.Expired } }
      : { failure: jobs.failure },
    seals: { value: sealed, failure: seals.failure },
    backup,
  }
}

async function readable<Value>(read: () => Promise<Value>, signal: AbortSignal): Promise<Part<Value>> {
  try {
    return { value: await read() }
  } catch (error) {
    signal.throwIfAborted()
    return { failure: `The database answered: ${(error as Error).message}.` }
  }
}
