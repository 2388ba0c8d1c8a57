import { removeOldSamples, sampleSoftware } from '../database/queries/software/software-samples.ts'
import { jobHandler } from './job-handler.ts'

/** Samples the versions that devices run, once an hour for each project, and removes the samples that are older than 14 days. */
export const projects_SampleSoftware = jobHandler(
  'projects_SampleSoftware',
  async ({ db }, _data, { signal }) => {
    while (await removeOldSamples(db)) signal.throwIfAborted()
    let last: string | undefined = ''
    while (last !== undefined) {
      signal.throwIfAborted()
      last = await sampleSoftware(db, last)
    }
  },
)
