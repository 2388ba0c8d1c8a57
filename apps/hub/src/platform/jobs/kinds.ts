/** Timeout, retries and interval of a kind of job. */
export type JobKind = {
  /** Deadline of an attempt in seconds. An attempt beyond it counts as expired, even if its code still runs. */
  timeoutSecs: number
  /** Attempts after the first one. */
  retryLimit: number
  /** Minimum pause before the second attempt in seconds. It doubles with each further attempt. */
  retryDelaySecs: number
  /** Interval of a recurring job in seconds, shared by all nodes; undefined for jobs that are queued on demand. */
  everySecs?: number
  /** True if an administrator may run a failed job again at any later time. The job then does only what is still to be done. */
  isRepeatable: boolean
  /** True if the job sends mail or changes devices. A restore cancels such jobs, because they may have run after the backup. */
  isCancelledByRestore?: true
}

const kinds: Record<string, JobKind> = {}

/** Adds the policies of the jobs that a feature declares. */
export function registerJobs(jobs: readonly { name: string; policy: JobKind }[]): void {
  for (const { name, policy } of jobs) kinds[name] = policy
}

/** Policies of all kinds of jobs, by name. */
export function jobKinds(): Readonly<Record<string, JobKind>> {
  if (Object.keys(kinds).length === 0)
    throw new Error('No jobs are registered: import features/index.ts first.')
  return kinds
}

/** Whether an administrator may run a failed job of this kind again. Jobs of kinds that the hub no longer has cannot run. */
export function isRepeatable(name: string): boolean {
  return Object.hasOwn(kinds, name) && kinds[name]!.isRepeatable
}
