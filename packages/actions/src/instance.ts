import { z } from 'zod'
import { listInput, listOutput, optional, optionalText, query } from './define.ts'
import { ClusterNodeId, JobId } from './ids.ts'
import { MAX_KIND_LENGTH } from './limits.ts'
import { Timestamp, text, U32 } from './scalars.ts'

/** States of a background job (docs/product.md 4). */
export const JobStatus = z.enum(['Pending', 'Completed', 'Failed', 'Expired', 'Cancelled'])
export type JobStatus = z.output<typeof JobStatus>

/** Actions on the instance as a whole (docs/api.md 2.3). */
export const instance = {
  instance_GetStatistics: query({
    summary: 'Counters of the instance.',
    input: z.object({}),
    output: z.object({ users: U32, projects: U32, devices: U32 }),
    permission: 'admin',
    aliases: ['instance_GetInstanceStatistics'],
  }),
  cluster_GetDetails: query({
    summary: 'Nodes of the hub that are running.',
    input: z.object({}),
    output: z.object({
      nodes: z.array(
        z.object({
          nodeId: ClusterNodeId,
          name: z.string().optional(),
          status: z.literal('Active').describe('Clients of April 2026 require it.'),
          joinedAt: Timestamp,
          uptimeSecs: U32,
          lastHeartbeat: Timestamp,
        }),
      ),
    }),
    permission: 'admin',
    aliases: ['cluster_GetClusterDetails'],
  }),
  jobs_Query: query({
    summary: 'Background jobs, newest first; a bare call answers the newest 1,000.',
    cost: 'scan if filtered',
    input: z.object(
      listInput(
        ['createdAt'],
        z.object({
          job: optionalText(text(MAX_KIND_LENGTH)).describe('Name of a kind of job.'),
          statuses: optional(z.array(JobStatus).max(5)),
        }),
      ),
    ),
    output: z.object({
      jobs: z.array(
        z.object({
          jobId: JobId,
          status: JobStatus,
          job: z.string(),
          queued: z.boolean().describe('True while it waits for its first or next attempt.'),
          attempts: U32,
          retryLimit: U32.optional(),
          retryDelay: U32.describe('Seconds.'),
          timeout: U32.describe('Time limit of an attempt in seconds.'),
          createdAt: Timestamp,
          finishedAt: Timestamp.optional(),
        }),
      ),
      ...listOutput,
    }),
    permission: 'admin',
    aliases: ['jobs_QueryJobs'],
  }),
}
