import type { views } from '@muster/actions'
import { viewRow } from '../rows.ts'
import { text, time, timeOf } from './list-items.ts'
import { MEMBERS, READERS, type Rows } from './row.ts'

const VIEW = { name: 'Pier 4', conditions: { status: 'disconnected' as const } }

export const viewRows: Rows<typeof views> = {
  views_Query: {
    input: ({ projectId }) => ({ projectId }),
    may: READERS,
    list: {
      items: 'views',
      id: 'viewId',
      sorts: { name: text('name'), createdAt: time('createdAt') },
      defaultSort: 'name',
      hasText: true,
      add: async ({ hub, projectId }, name, index) => {
        await viewRow(hub, projectId, { name, createdAt: timeOf(index) })
      },
    },
  },
  views_Get: {
    input: async ({ hub, projectId }) => ({ projectId, viewId: await viewRow(hub, projectId) }),
    may: READERS,
  },
  views_Create: { input: ({ projectId }) => ({ projectId, ...VIEW, isShared: false }), may: MEMBERS },
  views_Set: {
    input: async ({ hub, projectId }) => ({
      projectId,
      viewId: await viewRow(hub, projectId),
      ...VIEW,
      isShared: true,
    }),
    may: MEMBERS,
  },
  views_Delete: {
    input: async ({ hub, projectId }) => ({
      projectId,
      viewId: await viewRow(hub, projectId),
    }),
    may: MEMBERS,
  },
}
