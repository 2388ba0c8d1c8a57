import { ActionError } from '@muster/actions'
import { sql } from 'kysely'
import type { JobName } from '../../../platform/jobs/jobs.ts'
import { isRepeatable } from '../../../platform/jobs/kinds.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/**
 * Queues one more attempt of a job that failed or expired. The job keeps its id and its data. A waiting or running job is not changed,
 * so two clicks cause only one attempt.
 */
export const jobs_Retry = handler('jobs_Retry', async ({ tx, events, afterCommit, services }, { jobId }) => {
  const { rows } = await sql<{ name: string; state: string }>`
    select name, state from pgboss.job where data ->> 'jobId' = ${jobId} for update`.execute(tx)
  const [job] = rows
  if (!job)
    throw new ActionError('Invalid', `There is no job ${jobId}. Jobs are kept for 30 days.`, { status: 404 })
  if (job.state === 'created' || job.state === 'retry' || job.state === 'active')
    return { result: 'AlreadyPending' as const }
  if (job.state !== 'failed')
    throw new ActionError(
      'Invalid',
      `The job is ${job.state}. Only a failed or expired job can be retried.`,
      { status: 409 },
    )
  if (!isRepeatable(job.name))
    throw new ActionError('Invalid', `A job of the kind ${job.name} cannot be retried.`, { status: 409 })
  // Raises both limits of pg-boss: it runs no attempt beyond `retry_limit`, and deletes a waiting job after `keep_until`.
  await sql`
    update pgboss.job
       set state = 'retry', retry_limit = retry_count + 1, completed_on = null, start_after = now(),
           keep_until = greatest(keep_until, now() + interval '1 day')
     where name = ${job.name} and data ->> 'jobId' = ${jobId}`.execute(tx)
  await events.emit('jobs_Retried', { jobId, job: job.name })
  afterCommit(() => services.jobs.wake(job.name as JobName))
  return { result: 'Queued' as const }
})
