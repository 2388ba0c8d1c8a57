import type { instance } from '@muster/actions'
import type { Rows } from './row.ts'

export const instanceRows: Rows<typeof instance> = {
  instance_GetStatistics: { input: () => ({}), may: ['instanceAdmin'] },
  cluster_GetDetails: { input: () => ({}), may: ['instanceAdmin'] },
  jobs_Query: {
    input: () => ({}),
    may: ['instanceAdmin'], // Scheduled jobs change this list at any time, so `instance.test.ts` tests it separately.
    list: null,
  },
}
