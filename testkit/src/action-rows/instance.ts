import type { instance } from '@muster/actions'
import { failedJob } from './records.ts'
import type { Rows } from './row.ts'

export const instanceRows: Rows<typeof instance> = {
  instance_GetStatistics: { input: () => ({}), may: ['instanceAdmin'] },
  cluster_GetDetails: { input: () => ({}), may: ['instanceAdmin'] },
  cluster_StartRebalance: { input: () => ({}), may: ['instanceAdmin'] },
  cluster_CancelRebalance: { input: () => ({}), may: ['instanceAdmin'] },
  jobs_Query: {
    input: () => ({}),
    may: ['instanceAdmin'], // Scheduled jobs change this list at any time, so `instance.test.ts` tests it separately.
    list: null,
  },
  jobs_GetSummary: { input: () => ({}), may: ['instanceAdmin'] },
  jobs_Retry: {
    input: async ({ hub }) => ({ jobId: await failedJob(hub) }),
    may: ['instanceAdmin'],
  },
  instance_GetHealth: { input: () => ({}), may: ['instanceAdmin'] },
  instance_QueryProjects: {
    input: () => ({}),
    may: ['instanceAdmin'], // The projects of all tests are in this list, so `instance.test.ts` tests it separately.
    list: null,
  },
}
