import { z } from 'zod'
import { command, listInput, listOutput, optional, optionalText, query, TextFilter } from './define.ts'
import { ClusterNodeId, JobId, OrganizationId, ProjectId } from './ids.ts'
import { MAX_KIND_LENGTH, MAX_SUMMARIZED_JOBS, MAX_SUMMARIZED_RUNS } from './limits.ts'
import { Empty, Timestamp, text, U32 } from './scalars.ts'

/** States of a background job (docs/specification.md 4). */
export const JobStatus = z.enum(['Pending', 'Completed', 'Failed', 'Expired', 'Cancelled'])
export type JobStatus = z.output<typeof JobStatus>

const Level = z.enum(['bad', 'warn'])
const Disk = z.object({ freeBytes: z.number(), totalBytes: z.number() })

/** State of the file of the last backup. */
const backupFile = {
  state: z
    .enum(['Present', 'Missing', 'Changed', 'Unseen'])
    .describe('Changed: it has another size or time of change. Unseen: it cannot be checked.'),
  reason: z.string().optional().describe('Why the file cannot be checked.'),
}

/** Jobs of one kind in the last 48 hours. */
const JobKindSummary = z.object({
  job: z.string(),
  everySecs: U32.optional().describe('Interval of a recurring kind.'),
  isRepeatable: z.boolean(),
  runs: z
    .array(z.object({ status: JobStatus, durationMs: z.int().optional() }))
    .max(MAX_SUMMARIZED_RUNS)
    .describe('The last runs, the newest last.'),
  failedCount: U32.describe('Jobs of the last 24 hours that failed or expired.'),
  usualMs: z.int().optional().describe('Median duration of the completed jobs.'),
  nextRunAt: Timestamp.optional(),
  failing: z
    .object({
      since: Timestamp.describe('End of the first failed job after the last completed one.'),
      count: U32.describe('Failed jobs in a row.'),
      lastJobId: JobId,
      lastError: z.string().optional(),
    })
    .optional()
    .describe('Present if the last job of this kind that ended has failed or expired.'),
  lastCompletedAt: Timestamp.optional(),
})

/** Facts about a node, from its latest report. */
export const NodeFacts = z.object({
  version: z.string(),
  connections: U32.describe('Connected devices.'),
  eventsPerSec: z.number().min(0).describe('Events of devices stored in the last half minute.'),
  disk: Disk.optional().describe('The fullest disk with data of the hub.'),
  diskFailure: z.string().optional(),
  certificates: z
    .array(z.object({ names: z.array(z.string()), endsAt: Timestamp }))
    .optional()
    .describe('Certificates with which the node serves TLS.'),
  certificatesFailure: z.string().optional(),
  bus: z
    .object({
      kind: z.string(),
      awaySince: Timestamp.optional(),
      failure: z.string().optional(),
    })
    .optional()
    .describe(
      'Carrier of messages between nodes: PostgreSQL, NATS or PostgreSQL and NATS. Absent with the embedded database.',
    ),
  backup: z
    .object({ takenAt: Timestamp, ...backupFile })
    .optional()
    // During an upgrade a node of a newer release may report another state.
    .catch(undefined)
    .describe('The file of the last backup, as this node sees it.'),
  retiredSettings: z
    .array(z.string())
    .optional()
    .describe('Settings that the node ignores, because its release has retired them. Absent without any.'),
})
export type NodeFacts = z.output<typeof NodeFacts>

/** Something that an administrator should see to. `bad` comes before `warn`. */
const Problem = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('JobFailing'),
    level: Level,
    since: Timestamp,
    job: z.string(),
    jobId: JobId.describe('The last failed job.'),
    count: U32.describe('Failed jobs in a row.'),
    lastError: z.string().optional(),
  }),
  z.object({ kind: z.literal('CertificateEnding'), level: Level, name: z.string(), endsAt: Timestamp }),
  z.object({
    kind: z.literal('FirstPassword'),
    level: Level,
    email: z.string().describe('Account with the generated password of the first start.'),
    endsAt: Timestamp,
  }),
  z.object({
    kind: z.literal('DiskFilling'),
    level: Level,
    nodeName: z.string(),
    disk: Disk,
    fullAt: Timestamp.optional().describe('At the growth of the database in the last 7 days.'),
  }),
  z.object({ kind: z.literal('NodeSilent'), level: Level, nodeName: z.string(), lastHeartbeat: Timestamp }),
  z.object({
    kind: z.literal('BusAway'),
    level: Level,
    since: Timestamp,
    nodeName: z.string(),
    bus: z.string().describe('Carrier of messages between nodes: PostgreSQL, NATS or PostgreSQL and NATS.'),
    failure: z.string().optional(),
  }),
  z.object({
    kind: z.literal('BackupLost'),
    level: Level,
    takenAt: Timestamp.describe('Time of the state that the last backup has.'),
    path: z.string(),
    state: z.enum(['Missing', 'Changed']).describe('Changed: the file has another size or time of change.'),
  }),
  z.object({
    kind: z.literal('BackupMissing'),
    level: Level,
    takenAt: Timestamp.optional().describe('Time of the last backup; absent if there was never one.'),
  }),
  z.object({ kind: z.literal('SealBroken'), level: Level, since: Timestamp, problem: z.string() }),
  z.object({
    kind: z.literal('VersionsDiffer'),
    level: Level,
    since: Timestamp,
    versions: z.array(z.string()),
  }),
  z.object({
    kind: z.literal('SettingsRetired'),
    level: Level,
    nodeName: z.string(),
    settings: z.array(z.string()).describe('Names in the environment.'),
  }),
])

/** A part of the health that may be unreadable. `failure` then has the reason. */
function part<Value extends z.ZodType>(value: Value) {
  return z.object({ value: value.optional(), failure: z.string().optional() })
}

/** Actions on the instance as a whole (docs/api.md 2.3). */
export const instance = {
  instance_GetStatistics: query({
    summary: 'Counters of the instance.',
    input: z.object({}),
    output: z.object({ users: U32, projects: U32, devices: U32 }),
    permission: 'admin',
    aliases: ['instance_GetInstanceStatistics'],
  }),
  instance_GetHealth: query({
    summary: 'Health of the instance: problems, nodes, database, events and certificates of the hub.',
    cost: 'brief',
    input: z.object({}),
    output: z.object({
      checkedAt: Timestamp,
      problems: z.array(Problem).describe('The worst first.'),
      people: part(z.object({ administrators: U32, organizations: U32 })),
      nodes: part(
        z.array(
          z.object({
            nodeId: ClusterNodeId,
            name: z.string(),
            uptimeSecs: U32,
            facts: NodeFacts.optional().describe('Absent until the first report of the node.'),
          }),
        ),
      ),
      events: part(
        z.object({
          perSec: z.number(),
          dayCount: z.number().describe('Events of the last 24 hours.'),
          bins: z
            .array(z.object({ startsAt: Timestamp, perSec: z.number() }))
            .describe('The last 24 hours in intervals of 15 minutes, without the running one.'),
          recordedSince: Timestamp.optional().describe(
            'Beginning of the first interval with an event, if it is within the last 24 hours and the hub has no older one. Absent from older nodes.',
          ),
        }),
      ),
      database: part(
        z.object({
          version: z.string(),
          sizeBytes: z.number(),
          parts: z.array(z.object({ name: z.enum(['Events', 'Audit', 'History']), sizeBytes: z.number() })),
          days: z
            .array(z.object({ day: z.string(), sizeBytes: z.number() }))
            .describe('Daily samples of 30 days.'),
          growthBytesPerDay: z
            .number()
            .optional()
            .describe('Of the last 7 days; absent with fewer than 2 samples.'),
          connections: U32,
          maxConnections: U32,
        }),
      ),
      jobs: part(
        z.object({ failedCount: U32.describe('Jobs of the last 24 hours that failed or expired.') }),
      ),
      seals: part(
        z.object({
          sealNo: U32.optional(),
          verifiedAt: Timestamp.optional(),
          isIntact: z.boolean().optional().describe('Absent before the first verification.'),
        }),
      ),
      backup: part(
        z.object({
          last: z
            .object({
              takenAt: Timestamp,
              sizeBytes: z.number(),
              isVerified: z.boolean(),
              file: z
                .object({ path: z.string(), ...backupFile })
                .optional()
                .describe('Absent for a backup of an older release.'),
            })
            .optional()
            .describe('Last backup by `muster-hub backup`; absent before the first one.'),
        }),
      ),
    }),
    permission: 'admin',
  }),
  instance_QueryProjects: query({
    summary: 'Projects of all organizations with their devices.',
    cost: 'scan',
    input: z.object(listInput(['name', 'organization', 'devices', 'stored'], TextFilter)),
    output: z.object({
      projects: z.array(
        z.object({
          projectId: ProjectId,
          name: z.string(),
          organizationId: OrganizationId,
          organizationName: z.string(),
          deviceCount: U32,
          storedBytes: z
            .number()
            .optional()
            .describe('Last measured size of its events and past property values.'),
        }),
      ),
      ...listOutput,
    }),
    permission: 'admin',
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
          state: z
            .enum(['Running', 'Draining'])
            .describe('`Draining`: it stops, and other nodes take its devices.'),
          version: z.string().optional(),
          connections: U32.optional().describe('Connected devices at the last heartbeat.'),
          clockAheadMs: z
            .int()
            .optional()
            .describe(
              'Difference between its clock and the clock of the database; negative if it is behind.',
            ),
          isClockWrong: z.boolean().describe('True if the clocks differ by more than 5 s.'),
          release: z
            .object({ total: U32, done: U32, leftSecs: U32 })
            .optional()
            .describe('Devices that it is asked to release, and that it has released.'),
        }),
      ),
      formerNodes: z
        .array(
          z.object({
            nodeId: ClusterNodeId,
            name: z.string(),
            state: z.enum(['Dead', 'Left']),
            endedAt: Timestamp.describe('When it left, or its last heartbeat if it is dead.'),
          }),
        )
        .describe('Nodes that left or died in the last 24 hours, unless a node of the same name runs.'),
    }),
    permission: 'admin',
    aliases: ['cluster_GetClusterDetails'],
  }),
  cluster_StartRebalance: command({
    summary:
      'Asks the nodes with most devices to release their surplus, at most 1 % of their devices a minute.',
    input: z.object({
      fast: optional(z.boolean()).describe('20 % of the devices of a node a minute, but at least 250.'),
    }),
    output: z.object({
      result: z.enum(['Started', 'Balanced']).describe('`Balanced`: no node has a surplus, nothing changed.'),
      deviceCount: U32.describe('Devices that are to be released.'),
      lastsSecs: U32.describe('Time until the last one is released.'),
    }),
    permission: 'admin',
    audit: ['fast'],
  }),
  cluster_CancelRebalance: command({
    summary: 'Ends a rebalance. Devices that were released stay where they are.',
    input: z.object({}),
    output: Empty,
    permission: 'admin',
    audit: [],
  }),
  jobs_Query: query({
    summary: 'Background jobs, newest first; a bare call answers the newest 1,000.',
    cost: 'scan if filtered',
    scanningSort: /problems$/,
    input: z.object(
      listInput(
        ['createdAt', 'problems'],
        z.object({
          job: optionalText(text(MAX_KIND_LENGTH)).describe('Name of a kind of job.'),
          statuses: optional(z.array(JobStatus).max(5)),
          withinSecs: optional(U32.min(1)).describe('Greatest age of a job.'),
          since: optional(Timestamp).describe('Not older than this.'),
          until: optional(Timestamp).describe('Older than this.'),
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
          startedAt: Timestamp.optional().describe('Start of the latest attempt.'),
          durationMs: z.int().optional().describe('Length of the latest attempt, so far if it still runs.'),
          finishedAt: Timestamp.optional(),
          nextAttemptAt: Timestamp.optional().describe(
            'Earliest time of the next attempt after a failed one.',
          ),
          lastError: z.string().optional().describe('Error of the latest attempt that failed.'),
          progress: z
            .object({ done: U32, total: U32 })
            .optional()
            .describe(
              'Items of the bulk actions that the job has taken up, or devices of a job that fills rows after an upgrade.',
            ),
          isRepeatable: z.boolean().describe('Whether `jobs_Retry` accepts this kind of job.'),
        }),
      ),
      ...listOutput,
    }),
    permission: 'admin',
    aliases: ['jobs_QueryJobs'],
  }),
  jobs_GetSummary: query({
    summary: 'Background jobs of the last 24 hours, counted by status and by kind.',
    cost: 'brief',
    input: z.object({}),
    output: z.object({
      since: Timestamp,
      total: U32,
      counts: z.object({ Pending: U32, Completed: U32, Failed: U32, Expired: U32, Cancelled: U32 }),
      isCut: z
        .boolean()
        .describe(
          `True if the last 48 hours have more than ${MAX_SUMMARIZED_JOBS} jobs. Only the newest of them were read.`,
        ),
      kinds: z
        .array(JobKindSummary)
        .describe('Kinds with a job in the last 48 hours, and all recurring kinds.'),
      tookTooLong: z
        .literal(true)
        .optional()
        .describe('The jobs were not read within 2 s; everything else is empty.'),
    }),
    permission: 'admin',
  }),
  jobs_Retry: command({
    summary: 'Queues one more attempt of a failed or expired job.',
    input: z.object({ jobId: JobId }),
    output: z.object({
      result: z
        .enum(['Queued', 'AlreadyPending'])
        .describe('`AlreadyPending`: it waits or runs, nothing changed.'),
    }),
    permission: 'admin',
    audit: ['jobId'],
  }),
}
