import type { bulkActions } from '@muster/actions'
import { deviceRow } from '../rows.ts'
import { anotherCertificate, bulkActionRow } from './records.ts'
import { type ActorName, READERS, type Rows } from './row.ts'

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
  devices_CancelBulkAction: {
    input: async ({ hub, projectId }, { userId }) => ({
      projectId,
      bulkActionId: await bulkActionRow(hub, projectId, userId),
    }),
    may: SIGNED_IN_READERS,
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
