import type { labels } from '@muster/actions'
import { MEMBERS, READERS, type Rows } from './row.ts'

export const labelRows: Rows<typeof labels> = {
  devices_SetLabels: {
    input: ({ deviceId }) => ({ deviceId, set: { site: 'pier4' }, remove: ['ring'] }),
    may: MEMBERS,
  },
  projects_QueryLabelKeys: { input: ({ projectId }) => ({ projectId, text: 'si' }), may: READERS },
  projects_QueryLabelValues: {
    input: ({ projectId }) => ({ projectId, key: 'site', text: 'pier' }),
    may: READERS,
  },
}
