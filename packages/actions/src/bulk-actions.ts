import { z } from 'zod'
import { StoredActor } from './accounts.ts'
import { command, listOutput, optional, optionalText, query } from './define.ts'
import { AskedBy } from './devices.ts'
import { BulkActionId, DeploymentTokenId, DeviceCertificateId, DeviceId, ProjectId, UserId } from './ids.ts'
import { MAX_BULK_ITEMS, MAX_CURSOR_LENGTH, MAX_PAGE_SIZE } from './limits.ts'
import { projects } from './projects.ts'
import { Empty, openWord, Timestamp, text, U32 } from './scalars.ts'

const DevicesSelection = z.object({
  kind: z.literal('devices'),
  deviceIds: z.array(DeviceId).min(1).max(MAX_BULK_ITEMS),
})
const FilterSelection = z.object({
  kind: z.literal('filter'),
  filter: projects.projects_QueryDevices.input.shape.filter.describe(
    'Filter of `projects_QueryDevices`, resolved to a fixed list by the preview.',
  ),
})
const CertificatesSelection = z.object({
  kind: z.literal('certificates'),
  certificateIds: z.array(DeviceCertificateId).min(1).max(MAX_BULK_ITEMS),
})

/** Selected devices: a list of ids, or all devices that match a filter of the device list. */
const DeviceSelection = z.discriminatedUnion('kind', [DevicesSelection, FilterSelection])
/** Selected certificates: a list of ids, or all pending certificates of selected devices. */
const CertificateSelection = z.discriminatedUnion('kind', [
  DevicesSelection,
  FilterSelection,
  CertificatesSelection,
])

/** Kinds of bulk actions. */
export const BulkActionKind = z.enum(['Accept', 'Reject', 'Delete'])
export type BulkActionKind = z.output<typeof BulkActionKind>

/**
 * States of a bulk action. A preview makes it `Prepared`. When started, a large deletion first is `Waiting`, so that it can be cancelled.
 * `Stopped` means that its person signed out or lost the permission.
 */
export const BulkActionStatus = z.enum([
  'Prepared',
  'Waiting',
  'Running',
  'Completed',
  'Cancelled',
  'Stopped',
])
export type BulkActionStatus = z.output<typeof BulkActionStatus>

/** Reasons why a bulk action left a device or certificate as it was. */
export const BulkReason = z.enum([
  'DeviceDeleted',
  'CertificateDeleted',
  'AlreadyAccepted',
  'AlreadyRejected',
  'AlreadyRevoked',
  'NoLongerMatches',
  'HubError',
])
export type BulkReason = z.output<typeof BulkReason>

const ItemNames = { deviceId: DeviceId, name: z.string().optional(), hostname: z.string().optional() }

/**
 * Answer of a preview. A preview stores the ids of its items, so its bulk action never includes devices and certificates that come
 * later.
 */
const Preview = z.object({
  bulkActionId: BulkActionId,
  itemCount: U32.describe('Number of certificates, or of devices for a deletion.'),
  deviceCount: U32,
  connectedCount: U32.describe('Devices that are connected now.'),
  leftOutCount: U32.describe(
    'Devices or certificates selected by id that are absent or have nothing to decide.',
  ),
  first: z.array(z.object(ItemNames)).describe('The first five devices.'),
})

/** Rate limit of previews, because each stores up to `MAX_BULK_ITEMS` rows. A person reads at most about twelve previews in a minute. */
const PREVIEWS = { perPerson: { calls: 120, perSecs: 600 } }

/** Actions on many devices or certificates at once (docs/api.md 1.10). */
export const bulkActions = {
  devices_GetBulkCounts: query({
    summary: 'Counts of the devices of a selection and of their pending certificates.',
    cost: 'brief',
    input: z.object({ projectId: ProjectId, selection: DeviceSelection }),
    output: z
      .object({ deviceCount: U32, pendingCertificateCount: U32, connectedCount: U32 })
      .partial()
      .describe('Without counts where 2 s did not suffice.'),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  devices_CreateBulkDecision: command({
    summary: 'Previews accepting or rejecting pending certificates, and fixes which ones.',
    cost: 'scan if filtered',
    input: z.object({
      projectId: ProjectId,
      decision: z.enum(['Accept', 'Reject']),
      selection: CertificateSelection,
    }),
    output: Preview,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    needsSession: true,
    rateLimit: PREVIEWS,
    audit: ['projectId', 'decision'],
  }),
  devices_CreateBulkDeletion: command({
    summary: 'Previews the deletion of devices, and fixes which ones.',
    cost: 'scan if filtered',
    input: z.object({ projectId: ProjectId, selection: DeviceSelection }),
    output: Preview,
    permission: { can: 'delete', on: 'project', id: 'projectId' },
    needsSession: true,
    rateLimit: PREVIEWS,
    audit: ['projectId'],
  }),
  devices_StartBulkDecision: command({
    summary:
      'Runs a previewed decision: up to 200 certificates at once, more as a job. A job that rejects starts after 10 s.',
    input: z.object({
      projectId: ProjectId,
      bulkActionId: BulkActionId,
      askedBy: optional(AskedBy),
    }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    needsSession: true,
    audit: ['projectId', 'bulkActionId'],
  }),
  devices_StartBulkDeletion: command({
    summary: 'Runs a previewed deletion: up to 200 devices at once, more as a job that starts after 10 s.',
    input: z.object({
      projectId: ProjectId,
      bulkActionId: BulkActionId,
      askedBy: optional(AskedBy),
    }),
    output: Empty,
    permission: { can: 'delete', on: 'project', id: 'projectId' },
    needsSession: true,
    audit: ['projectId', 'bulkActionId'],
  }),
  devices_CancelBulkAction: command({
    summary: 'Cancels a bulk action; what it has done until then stays done.',
    input: z.object({ projectId: ProjectId, bulkActionId: BulkActionId }),
    output: Empty,
    permission: { can: 'delete', on: 'project', id: 'projectId' },
    needsSession: true,
    audit: ['projectId', 'bulkActionId'],
  }),
  devices_GetBulkAction: query({
    summary: 'State and counts of a bulk action.',
    input: z.object({ projectId: ProjectId, bulkActionId: BulkActionId }),
    output: z.object({
      bulkActionId: BulkActionId,
      kind: openWord(BulkActionKind),
      status: openWord(BulkActionStatus),
      userId: UserId,
      actorName: z.string().optional().describe('Name of the person, as it is now.'),
      createdAt: Timestamp,
      startedAt: Timestamp.optional(),
      dueAt: Timestamp.optional().describe('Time before which nothing is done.'),
      dueInSecs: U32.optional().describe('Seconds until `dueAt`.'),
      endedAt: Timestamp.optional(),
      cancelledByUserId: UserId.optional(),
      cancelledByName: z.string().optional(),
      itemCount: U32,
      succeededCount: U32,
      skippedCount: U32,
      failedCount: U32,
      connectedCount: U32.describe('Devices among the succeeded ones that are connected now.'),
      tokenCount: U32,
      addressCount: U32,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  devices_QueryBulkActionItems: query({
    summary: 'Results of a bulk action, one for each device or certificate.',
    input: z.object({
      projectId: ProjectId,
      bulkActionId: BulkActionId,
      outcome: optional(z.enum(['Succeeded', 'Refused', 'Open'])).describe(
        '`Refused` are skipped and failed ones, `Open` those that are not reached yet.',
      ),
      limit: optional(z.int().min(1).max(MAX_PAGE_SIZE)).describe('Maximum number of items.'),
      cursor: optionalText(text(MAX_CURSOR_LENGTH)).describe('`nextCursor` of the previous page.'),
    }),
    output: z.object({
      items: z.array(
        z.object({
          ...ItemNames,
          certificateId: DeviceCertificateId.optional(),
          tokenId: DeploymentTokenId.optional(),
          remoteAddress: z.string().optional(),
          outcome: z.enum(['Succeeded', 'Skipped', 'Failed']).optional(),
          reason: openWord(BulkReason).optional(),
          actor: StoredActor.optional().describe('Who had decided or deleted it before.'),
          actorName: z.string().optional(),
          actedAt: Timestamp.optional(),
          exists: z.boolean().describe('Whether the device exists now.'),
          isConnected: z.boolean(),
          currentConnectionDurationSecs: U32.optional(),
        }),
      ),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
}
