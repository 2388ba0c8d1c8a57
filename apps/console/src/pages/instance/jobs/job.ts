import type { ActionOutput } from '@muster/actions/client'
import { Ban, CircleCheck, Clock, Hourglass, OctagonAlert } from 'lucide-react'
import type { StateLook } from '../../../ui/lazy/StateBadge.tsx'

/** A background job as the hub lists it. */
export type Job = ActionOutput<'jobs_Query'>['jobs'][number]

/** A kind of background job with its last runs. */
export type JobKind = ActionOutput<'jobs_GetSummary'>['kinds'][number]

/** Looks of the statuses of a job (docs/specification.md 4), in the order of the filter. */
export const JOB_LOOKS: Record<Job['status'], StateLook> = {
  Pending: { tone: 'warn', icon: Clock },
  Completed: { tone: 'ok', icon: CircleCheck },
  Failed: { tone: 'bad', icon: OctagonAlert },
  Expired: { tone: 'neutral', icon: Hourglass },
  Cancelled: { tone: 'neutral', icon: Ban },
}

/** Whether a job has failed or expired. A cancelled job does not count. */
export function isFailed({ status }: { status: string }): boolean {
  return status === 'Failed' || status === 'Expired'
}
