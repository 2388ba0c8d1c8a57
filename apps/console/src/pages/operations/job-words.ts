import type { JobWords } from '../instance/shared/words.ts'

/** Words for the jobs of operations. */
export const operationJobs: JobWords<'operations'> = {
  devices_RunOperations: {
    name: 'Continue operations',
    failed: 'Operations of nodes that have stopped do not go on, and their steps do not time out',
  },
}
