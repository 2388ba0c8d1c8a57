import { isJsonObject, RawJson } from '@muster/actions/exact-json'
import { sql } from 'kysely'
import { OTA_STATUS } from '../../link/telemetry/device-updates.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import { wireTimeOf } from '../../platform/runtime/times.ts'

/** Report of a device in which it says that something is wrong. */
type ProblemKind = 'health' | 'update'

const PROPERTY: Record<ProblemKind, string> = { health: 'dev.nexigon.system.health', update: OTA_STATUS }

/** Past values per statement. */
const PAGE = 1_000
/** Maximum number of past values that one call reads. Ten minutes of a device that reports 16 times a second. */
const MAX_VALUES = 10_000
/** Size in bytes above which a past value is not read. It ends the run, as any value does that is no report. */
const MAX_VALUE_BYTES = 16_384

type Place = { at: string; version: number }
type Change = Place & { text: string | null }

/**
 * Finds the first and last report of the present problem among the past values of a property. The newest value and the older ones with
 * the same health, whichever that is, or with the same version that is being installed, are the run of the problem. Without such a report,
 * and if the run began before the oldest value that was read, `firstAt` is absent.
 */
export async function readProblemRun(
  db: Db,
  deviceId: string,
  kind: ProblemKind,
): Promise<{ firstAt?: string; lastAt?: string }> {
  let newest: Report | undefined
  let lastAt: string | undefined
  let firstAt: string | undefined
  let before: Place = { at: 'infinity', version: 0 }
  for (let read = 0; read < MAX_VALUES; read += PAGE) {
    const changes = await changesBefore(db, deviceId, PROPERTY[kind], before)
    for (const { at, text } of changes) {
      const report = reportOf(kind, text)
      newest ??= report
      if (report?.run === undefined || report.run !== newest?.run) return found(firstAt, lastAt)
      if (!report.isProblem) continue
      lastAt ??= at
      firstAt = at
    }
    if (changes.length < PAGE) return found(firstAt, lastAt)
    before = changes.at(-1)!
  }
  return found(undefined, lastAt)
}

function found(firstAt: string | undefined, lastAt: string | undefined) {
  return {
    ...(firstAt !== undefined && { firstAt: wireTimeOf(firstAt) }),
    ...(lastAt !== undefined && { lastAt: wireTimeOf(lastAt) }),
  }
}

async function changesBefore(db: Db, deviceId: string, name: string, before: Place): Promise<Change[]> {
  const { rows } = await sql<Change>`
    select c.version, c.changed_at::text as at,
           case when octet_length(c.value::text) <= ${MAX_VALUE_BYTES} then c.value::text end as text
      from device_property_change c
     where c.device_id = ${deviceId} and c.name = ${name}
       and (c.changed_at, c.version) < (${before.at}::timestamptz, ${before.version}::bigint)
     order by c.changed_at desc, c.version desc limit ${PAGE}`.execute(db)
  return rows
}

/** Part of a value: `run` is equal in all values of a run, and absent in a value that belongs to none. */
type Report = { run: string | undefined; isProblem: boolean }

function reportOf(kind: ProblemKind, text: string | null): Report | undefined {
  const value: unknown = text === null ? undefined : new RawJson(text).parse()
  if (!isJsonObject(value)) return undefined
  if (kind === 'health') {
    const { status } = value
    return { run: typeof status === 'string' ? status : undefined, isProblem: true }
  }
  const { state, targetVersion, failureCount } = value
  if (state === 'completed') return undefined
  const version = typeof targetVersion === 'string' ? targetVersion : ''
  return {
    run: version,
    isProblem: state === 'failed' || (typeof failureCount === 'number' && failureCount > 0),
  }
}
