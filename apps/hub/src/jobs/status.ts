import type { JobStatus } from '@muster/actions'
import { type RawBuilder, sql } from 'kysely'

/**
 * The state of a job as people see it (spec 4) for a row `j` of `pgboss.job`. The queue has one state for whatever failed, also by
 * its deadline, and those of an attempt that lasted that long are Expired.
 */
export const jobStatus: RawBuilder<JobStatus> = sql<JobStatus>`case j.state
  when 'completed' then 'Completed'
  when 'cancelled' then 'Cancelled'
  when 'failed' then
    case when j.completed_on >= j.started_on + j.expire_seconds * interval '1 second' then 'Expired' else 'Failed' end
  else 'Pending' end`
