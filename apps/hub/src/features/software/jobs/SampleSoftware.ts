import { defineJob, RECURRING } from '../../../platform/jobs/define-job.ts'
import { removeOldSamples, sampleSoftware } from '../software-samples.ts'

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    projects_SampleSoftware: Record<never, never>
  }
}

/**
 * Samples the versions that devices run, once an hour for each project, and removes samples older than 14 days. If a project could not be
 * counted in time, the job fails after it has sampled the other projects.
 */
export const projects_SampleSoftware = defineJob({
  name: 'projects_SampleSoftware',
  // A project gets one count an hour. The job runs twice as often, so that a late run leaves no gap.
  policy: { ...RECURRING, timeoutSecs: 600, everySecs: 30 * 60 },
  run: async ({ db }, _data, { signal }) => {
    while (await removeOldSamples(db)) signal.throwIfAborted()
    const skipped: string[] = []
    let cause: unknown
    let last: string | undefined = ''
    while (last !== undefined) {
      signal.throwIfAborted()
      last = await sampleSoftware(db, last, (projectId, error) => {
        skipped.push(projectId)
        cause = error
      })
    }
    if (skipped.length > 0)
      throw new Error(
        `the software of ${skipped.length} projects could not be counted in time, first ${skipped[0]}`,
        {
          cause,
        },
      )
  },
})
