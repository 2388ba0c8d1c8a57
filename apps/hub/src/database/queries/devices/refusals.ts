import { wireTime } from '../../../runtime/times.ts'

/** The columns of a row in which its last refusal stands. */
export type RefusalColumns = {
  last_refusal_at: Date | null
  last_refusal_reason: string | null
  last_refusal_count: number
}

/** The last refusal of a device or token as it is told, if there was one. */
export function refusalOf(row: RefusalColumns): { at: string; reason: string; count: number } | undefined {
  if (!row.last_refusal_at || row.last_refusal_reason === null) return undefined
  return { at: wireTime(row.last_refusal_at), reason: row.last_refusal_reason, count: row.last_refusal_count }
}
