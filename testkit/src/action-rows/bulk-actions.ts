import type { bulkActions } from '@muster/actions'
import { deviceRow } from '../rows.ts'
import { anotherCertificate, bulkActionRow, endedBulkChangeRow } from './records.ts'
import { type ActorName, MEMBERS, READERS, type Rows } from './row.ts'

/** Members with a session: a user token does not start bulk actions. */
const SIGNED_IN_MEMBERS: readonly ActorName[] = ['member', 'organizationAdmin']
const SIGNED_IN_READERS: readonly ActorName[] = [...SIGNED_IN_MEMBERS, 'instanceAdmin']

export const bulkActionRows: Rows<typeof bulkActions> = {
  devices_GetBulkCounts: {
    input: ({ projectId, deviceId }) => ({
      projectId,
      selection: { kind: 'devices', deviceIds: [deviceId] },
    }),
    may: READERS,
  },
  devices_CreateBulkDecision: {
    input: async world => ({
      projectId: world.projectId,
      decision: 'Reject',
      selection: { kind: 'certificates', certificateIds: [await anotherCertificate(world)] },
    }),
    may: SIGNED_IN_MEMBERS,
  },
  devices_CreateBulkDeletion: {
    input: async ({ hub, projectId }) => ({
      projectId,
      selection: { kind: 'devices', deviceIds: [await deviceRow(hub, projectId)] },
    }),
    may: SIGNED_IN_READERS,
  },
  devices_StartBulkDecision: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId),
    }),
    may: SIGNED_IN_MEMBERS,
  },
  devices_StartBulkDeletion: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId, 'Delete'),
    }),
    may: SIGNED_IN_READERS,
  },
  devices_CreateBulkLabels: {
    input: async ({ hub, projectId }) => ({
      projectId,
      selection: { kind: 'devices', deviceIds: [await deviceRow(hub, projectId)] },
      set: { site: 'pier4' },
      remove: ['ring'],
    }),
    may: MEMBERS,
  },
  devices_CreateBulkRename: {
    input: async ({ hub, projectId }) => ({
      projectId,
      selection: { kind: 'devices', deviceIds: [await deviceRow(hub, projectId)] },
      pattern: 'crane-{index:3}',
    }),
    may: MEMBERS,
  },
  devices_CreateBulkImport: {
    input: ({ projectId }) => ({ projectId, by: 'id', columns: ['name', 'label.site'] }),
    may: MEMBERS,
  },
  devices_AddBulkImportRows: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId, 'Import'),
      rows: [{ row: 2, key: await deviceRow(hub, projectId), values: ['crane-01'] }],
    }),
    may: MEMBERS,
  },
  devices_GetBulkPreview: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId, 'SetLabels'),
    }),
    may: READERS,
  },
  devices_QueryBulkImportProblems: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId, 'Import'),
    }),
    may: READERS,
  },
  devices_StartBulkChange: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId, 'SetLabels'),
    }),
    may: MEMBERS,
  },
  devices_StartBulkUndo: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await endedBulkChangeRow(hub, projectId, userId),
    }),
    may: MEMBERS,
  },
  devices_CancelBulkAction: {
    // Of another kind, a user token may not cancel it.
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId, 'SetLabels'),
    }),
    may: READERS,
  },
  devices_GetBulkAction: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId),
    }),
    may: READERS,
  },
  devices_QueryBulkActionItems: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId),
    }),
    may: READERS,
  },
}
