import { wireTime } from '../../platform/runtime/times.ts'

/** Columns of a device or a deployment token that describe its last refused connection. */
export type RefusalColumns = {
  last_refusal_at: Date | null
  last_refusal_reason: string | null
  last_refusal_count: number
}

/** Last refused connection of a device or a deployment token in the form of the API, if there was one. */
export function refusalOf(row: RefusalColumns): { at: string; reason: string; count: number } | undefined {
  if (!row.last_refusal_at || row.last_refusal_reason === null) return undefined
  return { at: wireTime(row.last_refusal_at), reason: row.last_refusal_reason, count: row.last_refusal_count }
}
