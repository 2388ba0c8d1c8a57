import { z } from 'zod'
import { ListColumns, StoredActor } from './accounts.ts'
import { command, listInput, listOutput, optional, query, TextFilter } from './define.ts'
import { DeviceFilter, DeviceSort } from './device-filters.ts'
import { DeviceViewId, ProjectId, UserId } from './ids.ts'
import { Empty, Name, Timestamp } from './scalars.ts'

/** Fields of a saved view of a device list that a person sets. */
const VIEW = {
  name: Name,
  conditions: DeviceFilter.describe('Filter of the devices.'),
  columns: optional(ListColumns).describe('Missing: the columns that each person has chosen.'),
  order: optional(DeviceSort).describe('Missing: the order that each person has chosen.'),
  isShared: z
    .boolean()
    .describe('Everyone in the project sees the view, and who may manage the project changes it.'),
  isInRow: optional(z.boolean()).describe('The view stands in the row above the list.'),
}

const View = z.object({
  viewId: DeviceViewId,
  name: z.string(),
  conditions: DeviceFilter.describe('Filter of the devices.'),
  columns: ListColumns.optional(),
  order: z.string().optional(),
  isShared: z.boolean(),
  isInRow: z.boolean(),
  ownerId: UserId.optional().describe('The person who has made the view, while the account exists.'),
  ownerName: z.string().optional(),
  mayChange: z.boolean().describe('Whether the caller may change and delete the view.'),
  createdAt: Timestamp,
  changedAt: Timestamp,
})

/** Saved views of the device list of a project. */
export const views = {
  views_Query: query({
    summary: 'Saved views of the device list of a project: shared ones and those of the caller.',
    input: z.object({ projectId: ProjectId, ...listInput(['name', 'createdAt'], TextFilter) }),
    output: z.object({ views: z.array(View), ...listOutput }),
    cost: 'bounded',
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  views_Get: query({
    summary: 'A saved view, or who has deleted it.',
    input: z.object({ projectId: ProjectId, viewId: DeviceViewId }),
    output: z.discriminatedUnion('result', [
      z.object({ result: z.literal('Found'), view: View }),
      z.object({
        result: z.literal('Deleted'),
        name: z.string(),
        deletedAt: Timestamp,
        actor: StoredActor,
        actorName: z.string().optional(),
      }),
    ]),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  views_Create: command({
    summary: 'Saves a view of the device list of a project.',
    input: z.object({ projectId: ProjectId, ...VIEW }),
    output: z.object({ viewId: DeviceViewId }),
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'isShared'],
    isCreation: true,
  }),
  views_Set: command({
    summary: 'Replaces what a saved view keeps.',
    input: z.object({ projectId: ProjectId, viewId: DeviceViewId, ...VIEW }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'viewId', 'isShared'],
  }),
  views_Delete: command({
    summary: 'Deletes a saved view.',
    input: z.object({ projectId: ProjectId, viewId: DeviceViewId }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'viewId'],
  }),
}
