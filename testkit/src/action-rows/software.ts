import type { software } from '@muster/actions'
import { READERS, REPOSITORY_READERS, type Rows } from './row.ts'

export const softwareRows: Rows<typeof software> = {
  projects_GetSoftware: { input: ({ projectId }) => ({ projectId }), may: READERS },
  repositories_QueryPackageUsage: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: REPOSITORY_READERS,
  },
  repositories_GetVersionUsage: {
    input: ({ versionId }) => ({ versionId, history: true }),
    may: REPOSITORY_READERS,
  },
}
