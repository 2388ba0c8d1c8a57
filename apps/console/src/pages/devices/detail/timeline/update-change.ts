import { durationInWords } from '../../../../lib/app/relative-time.ts'
import { recordOf } from '../device-json.ts'
import { HEALTH, OTA_STATUS } from '../property-names.ts'
import { healthOf, otaStatusOf } from '../well-known.ts'
import type { Entry, EntryOf } from './entry.ts'

/** States in which an update has ended. */
const ENDED = ['completed', 'failed', 'idle', 'blocked', 'rollback']

/** Step of a software update that a timeline entry reports: its beginning, its result or another state. */
export type UpdateChange = {
  what: 'failed' | 'installed' | 'begun' | 'other'
  version: string | undefined
  state: string | undefined
  /** Number of the failed attempt, if the device counts its attempts. */
  attempt: number | undefined
  error: string | undefined
  /** Time when the update began: the time of the previous change, if that change reports a running update. */
  startedAt: string | undefined
}

/** The change of an update that an entry reports; undefined for other entries, and for a truncated value. */
export function updateChangeOf(entry: Entry): UpdateChange | undefined {
  if (entry.type !== 'property' || entry.name !== OTA_STATUS) return undefined
  const { now, before } = entry
  const status = now.isCut ? undefined : otaStatusOf(now.value)
  if (!status) return undefined
  const past = before && !before.isCut ? otaStatusOf(before.value) : undefined
  const { state, failureCount, currentVersion, targetVersion, lastError } = status
  const hasBegun = past?.state !== undefined && !ENDED.includes(past.state)
  const common = { state, error: lastError, startedAt: hasBegun ? before?.changedAt : undefined }
  if (state === 'failed')
    return { ...common, what: 'failed', version: targetVersion, attempt: failureCount || undefined }
  if (state === 'completed')
    return { ...common, what: 'installed', version: currentVersion ?? targetVersion, attempt: undefined }
  if (state === undefined || ENDED.includes(state))
    return { ...common, what: 'other', version: targetVersion ?? currentVersion, attempt: undefined }
  return { ...common, what: 'begun', version: targetVersion, attempt: failureCount + 1 }
}

/** Time from the beginning of an update to the entry, "4 min 2 s"; undefined if it is unknown. */
export function updateDuration({ startedAt }: UpdateChange, { at }: Entry): string | undefined {
  if (startedAt === undefined) return undefined
  const secs = Math.round((Date.parse(at) - Date.parse(startedAt)) / 1000)
  if (secs < 60 || secs >= 3600) return durationInWords(secs)
  return secs % 60 === 0 ? durationInWords(secs) : `${durationInWords(secs)} ${secs % 60} s`
}

/** Health before and after an entry; undefined for other entries. */
export function healthChangeOf(entry: Entry): { from: string | undefined; to: string } | undefined {
  if (entry.type !== 'property' || entry.name !== HEALTH) return undefined
  const to = healthOf(entry.now.value)
  return to === undefined ? undefined : { from: healthOf(entry.before?.value), to }
}

/** Members in which the old and the new value differ; undefined unless both values are JSON objects and at most `max` members differ. */
export function changedMembers(
  { now, before }: EntryOf<'property'>,
  max: number,
): { key: string; from: unknown; to: unknown }[] | undefined {
  const from = before && !before.isCut ? recordOf(before.value) : undefined
  const to = now.isCut ? undefined : recordOf(now.value)
  if (!from || !to) return undefined
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  const changed = keys
    .map(key => ({ key, from: own(from, key), to: own(to, key) }))
    .filter(one => JSON.stringify(one.from) !== JSON.stringify(one.to))
  return changed.length > 0 && changed.length <= max ? changed : undefined
}

function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
