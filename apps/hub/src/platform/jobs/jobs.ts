import type { Tx } from '../database/client/connection.ts'

/**
 * Kinds of background jobs with their data. Each job declares its own (`declare module`). Data never hold a secret, since jobs are listed
 * and kept.
 */
// biome-ignore lint/suspicious/noEmptyInterface: jobs add their members
export interface JobData {}
/** Name of a kind of job. */
export type JobName = keyof JobData

/** Job queue, as action handlers use it. */
export type Jobs = {
  /** Queues a job that runs only if this transaction commits; returns its id. */
  enqueue<N extends JobName>(tx: Tx, job: N, data: JobData[N]): Promise<string>
  /** Makes this node poll for jobs of a kind immediately. Call it after the commit. */
  wake(job: JobName): void
}
