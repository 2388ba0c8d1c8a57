import type { FeatureJobs } from '@muster/actions/client'

/** Words for a kind of job. */
export type Words = {
  /** Name of the kind of job, in the imperative. */
  name: string
  /** Work that is not done while jobs of this kind fail, as a sentence without its period. */
  failed: string
  /** Consequence of the failure. */
  harm?: string
}

/** Words for all kinds of jobs of a feature. */
export type JobWords<F extends keyof FeatureJobs> = Record<FeatureJobs[F], Words>

/** Consequence where a later run does the work. */
export const NOT_LOST = 'Nothing is lost: they stay until a run succeeds.'
