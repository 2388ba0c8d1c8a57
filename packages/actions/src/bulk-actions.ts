import {
  isLabelKey,
  MAX_LABELS,
  MAX_NAME_PATTERN_LENGTH,
  NamePatternError,
  readNamePattern,
} from '@muster/predicates'
import { z } from 'zod'
import { StoredActor } from './accounts.ts'
import { command, listOutput, optional, optionalText, query } from './define.ts'
import { PropertyPath } from './device-filters.ts'
import { AskedBy } from './devices.ts'
import {
  BulkActionId,
  DeploymentTokenId,
  DeviceCertificateId,
  DeviceId,
  DeviceViewId,
  ProjectId,
  UserId,
} from './ids.ts'
import { LabelsOutput, LabelsToRemove, LabelsToSet } from './labels.ts'
import {
  MAX_BULK_ITEMS,
  MAX_CURSOR_LENGTH,
  MAX_IMPORT_CELL_LENGTH,
  MAX_IMPORT_PORTION,
  MAX_PAGE_SIZE,
} from './limits.ts'
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
const ViewSelection = z.object({
  kind: z.literal('view'),
  viewId: DeviceViewId.describe(
    'A saved view that the caller sees; its conditions are resolved like a filter.',
  ),
})
const CertificatesSelection = z.object({
  kind: z.literal('certificates'),
  certificateIds: z.array(DeviceCertificateId).min(1).max(MAX_BULK_ITEMS),
})

/** Selected devices: a list of ids, or all devices that match a filter of the device list or a saved view. */
const DeviceSelection = z.discriminatedUnion('kind', [DevicesSelection, FilterSelection, ViewSelection])
/** Selected certificates: a list of ids, or all pending certificates of selected devices. */
const CertificateSelection = z.discriminatedUnion('kind', [
  DevicesSelection,
  FilterSelection,
  ViewSelection,
  CertificatesSelection,
])

/** Kinds of bulk actions. Those from `SetLabels` on change labels and names. */
export const BulkActionKind = z.enum(['Accept', 'Reject', 'Delete', 'SetLabels', 'Rename', 'Import', 'Undo'])
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

/** Kinds of bulk actions that change labels and names, and that can be undone. */
export const BULK_CHANGE_KINDS = ['SetLabels', 'Rename', 'Import', 'Undo'] as const satisfies BulkActionKind[]

/**
 * Reasons why a bulk action left a device or certificate as it was. The preview of a change finds `AlreadySet`, `TooManyLabels`,
 * `ValueMissing`, `NameTooLong` and `NameInvalid`. `ChangedMeanwhile` means that a label or the name was changed after the preview.
 */
export const BulkReason = z.enum([
  'DeviceDeleted',
  'CertificateDeleted',
  'AlreadyAccepted',
  'AlreadyRejected',
  'AlreadyRevoked',
  'NoLongerMatches',
  'AlreadySet',
  'TooManyLabels',
  'ValueMissing',
  'NameTooLong',
  'NameInvalid',
  'ChangedMeanwhile',
  'OverLimit',
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

/** A label or the name of a device that a bulk action changes. */
const Change = z.object({
  label: z.string().optional().describe('Key of the label; missing: the name of the device.'),
  before: z.string().optional().describe('Missing: there was none.'),
  after: z.string().optional().describe('Missing: removed.'),
})

/**
 * Reasons why a row of an import changes no device: no device or several devices have the key, an earlier row names the device, or a cell is
 * no name or label.
 */
export const ImportProblem = z.enum(['NotFound', 'Ambiguous', 'Doubled', 'Invalid'])
export type ImportProblem = z.output<typeof ImportProblem>

const ProblemRow = z.object({
  row: U32.describe('Number of the row, as the caller gave it.'),
  key: z.string(),
  problem: openWord(ImportProblem),
  message: z.string().optional().describe('What is wrong with a cell, or which row names the device.'),
})

/** Answer of the preview of a change of labels and names. Its bulk action changes exactly what the preview says. */
const ChangePreview = z.object({
  bulkActionId: BulkActionId,
  itemCount: U32.describe('Selected devices, or rows of an import that name a device.'),
  changeCount: U32.describe('Devices that change.'),
  connectedCount: U32.describe('Devices that change and are connected now.'),
  leftOutCount: U32.describe('Devices selected by id that the project does not have.'),
  first: z
    .array(z.object({ ...ItemNames, isConnected: z.boolean(), changes: z.array(Change) }))
    .describe('The first five devices that change. `devices_QueryBulkActionItems` lists all.'),
  excluded: z
    .array(
      z.object({
        reason: openWord(BulkReason),
        deviceCount: U32,
        first: z.array(z.object(ItemNames)).describe('The first five.'),
      }),
    )
    .describe('Devices that do not change, by reason; `AlreadySet` means that nothing is to do.'),
  sharedNameCount: U32.describe('Devices that get a name which others of the selection get too.'),
  rowCount: U32.optional().describe('Rows of an import.'),
  problems: z
    .array(
      z.object({
        problem: openWord(ImportProblem),
        rowCount: U32,
        first: z.array(ProblemRow).describe('The first five.'),
      }),
    )
    .optional()
    .describe('Rows of an import that change no device. `devices_QueryBulkImportProblems` lists all.'),
})

/** Pattern of the key of a label within another text (`isLabelKey`). */
const LABEL_KEY_PART = '[a-z0-9._-]{1,63}'

/** A pattern of names such as `site-{label:site}-{index}`. */
export const NamePattern = text(MAX_NAME_PATTERN_LENGTH)
  .superRefine((pattern, context) => {
    try {
      readNamePattern(pattern)
    } catch (error) {
      if (!(error instanceof NamePatternError)) throw error
      context.addIssue({ code: 'custom', message: error.message })
    }
  })
  .meta({
    allOf: [
      { pattern: '[^\\s\\ufeff]' },
      {
        pattern: `^(?:[^{}]|\\{\\{|\\}\\}|\\{(?:hostname|name|id|index(?::[1-9])?|label:(?!__proto__\\})${LABEL_KEY_PART})\\})+$`,
      },
    ],
  })

/** What a column of an import sets: `name`, or `label.` and the key of a label. */
const ImportColumn = z
  .string()
  .refine(
    column => column === 'name' || (column.startsWith('label.') && isLabelKey(column.slice('label.'.length))),
    'expected name, or label. and the key of a label',
  )
  .meta({ pattern: `^(?:name|label\\.(?!__proto__$)${LABEL_KEY_PART})$` })

const ImportRow = z.object({
  row: U32.describe('Number of the row for messages, such as its line in the file.'),
  key: text(MAX_IMPORT_CELL_LENGTH).describe(
    'Id, host name, MAC address, fingerprint id or value of the property.',
  ),
  values: z
    .array(text(MAX_IMPORT_CELL_LENGTH))
    .max(MAX_LABELS + 1)
    .describe('One for each column.'),
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
  devices_CreateBulkLabels: command({
    summary: 'Previews setting and removing labels of devices, and fixes which ones.',
    cost: 'scan if filtered',
    input: z
      .object({
        projectId: ProjectId,
        selection: DeviceSelection,
        set: optional(LabelsToSet).describe('Values by key.'),
        remove: optional(LabelsToRemove).describe('Keys.'),
      })
      .refine(({ set = {}, remove = [] }) => !remove.some(key => Object.hasOwn(set, key)), {
        path: ['remove'],
        message: 'found a key that `set` has too',
      }),
    output: ChangePreview,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    rateLimit: PREVIEWS,
    audit: ['projectId', 'set', 'remove'],
  }),
  devices_CreateBulkRename: command({
    summary: 'Previews new names of devices by a pattern, and fixes which ones.',
    cost: 'scan if filtered',
    input: z.object({
      projectId: ProjectId,
      selection: DeviceSelection,
      pattern: NamePattern.describe(
        'Text with `{hostname}`, `{name}`, `{id}`, `{index}`, `{index:3}` (at least 3 digits) and `{label:KEY}`; `{{` and `}}` are brackets.',
      ),
      firstIndex: optional(U32).describe('`{index}` of the first device; 1 when missing.'),
    }),
    output: ChangePreview,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    rateLimit: PREVIEWS,
    audit: ['projectId', 'pattern'],
  }),
  devices_CreateBulkImport: command({
    summary: 'Begins an import of names and labels, whose rows `devices_AddBulkImportRows` takes.',
    input: z
      .object({
        projectId: ProjectId,
        by: z
          .enum(['id', 'hostname', 'mac', 'fingerprintId', 'property'])
          .describe('What the keys of the rows are.'),
        property: optional(PropertyPath).describe(
          'Path of the property whose texts or numbers are the keys.',
        ),
        columns: z
          .array(ImportColumn)
          .min(1)
          .max(MAX_LABELS + 1)
          .meta({ uniqueItems: true })
          .describe('`name` or `label.KEY`.'),
        emptyRemoves: optional(z.boolean()).describe(
          'An empty cell removes the label or the name; else it changes nothing.',
        ),
      })
      .refine(({ by, property }) => (by === 'property') === (property !== undefined), {
        path: ['property'],
        message: 'expected a path exactly if `by` is `property`',
      })
      .refine(({ columns }) => new Set(columns).size === columns.length, {
        path: ['columns'],
        message: 'found a column twice',
      })
      .meta({
        anyOf: [
          {
            properties: { by: { const: 'property' }, property: { type: 'string' } },
            required: ['property'],
          },
          { properties: { by: { not: { const: 'property' } }, property: { type: 'null' } } },
        ],
      }),
    output: z.object({ bulkActionId: BulkActionId }),
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    rateLimit: PREVIEWS,
    audit: ['projectId', 'by', 'property', 'columns'],
  }),
  devices_AddBulkImportRows: command({
    summary: 'Adds up to 5,000 rows to an import that was not started, 100,000 in all.',
    input: z.object({
      projectId: ProjectId,
      bulkActionId: BulkActionId,
      rows: z.array(ImportRow).min(1).max(MAX_IMPORT_PORTION),
    }),
    output: z.object({ rowCount: U32.describe('All rows of the import until now.') }),
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'bulkActionId'],
  }),
  devices_GetBulkPreview: query({
    summary: 'Preview of a change of labels and names that was not started.',
    input: z.object({ projectId: ProjectId, bulkActionId: BulkActionId }),
    output: ChangePreview,
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  devices_QueryBulkImportProblems: query({
    summary: 'Rows of an import that change no device, with the reason.',
    input: z.object({
      projectId: ProjectId,
      bulkActionId: BulkActionId,
      problem: optional(ImportProblem),
      limit: optional(z.int().min(1).max(MAX_PAGE_SIZE)).describe('Maximum number of rows.'),
      cursor: optionalText(text(MAX_CURSOR_LENGTH)).describe('`nextCursor` of the previous page.'),
    }),
    output: z.object({ rows: z.array(ProblemRow), ...listOutput }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  devices_StartBulkChange: command({
    summary: 'Runs a previewed change of labels and names: up to 200 devices at once, more as a job.',
    input: z.object({ projectId: ProjectId, bulkActionId: BulkActionId }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'bulkActionId'],
  }),
  devices_StartBulkUndo: command({
    summary: 'Sets the labels and names again that a bulk action replaced, for 10 min after its end.',
    input: z.object({ projectId: ProjectId, bulkActionId: BulkActionId }),
    output: z.object({
      bulkActionId: BulkActionId.describe(
        'The bulk action that undoes the other. It leaves alone what was changed since.',
      ),
    }),
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'bulkActionId'],
  }),
  devices_CancelBulkAction: command({
    summary:
      'Cancels a bulk action; what it has done until then stays done. A user token cancels only changes of labels and names.',
    input: z.object({ projectId: ProjectId, bulkActionId: BulkActionId }),
    output: Empty,
    permission: { can: 'delete', on: 'project', id: 'projectId' },
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
      reasons: z
        .array(z.object({ reason: openWord(BulkReason), itemCount: U32 }))
        .optional()
        .describe('Skipped and failed items by reason, once the bulk action has ended.'),
      set: LabelsOutput.optional().describe('Labels that it sets.'),
      remove: z.array(z.string()).optional().describe('Keys of labels that it removes.'),
      pattern: z.string().optional().describe('Pattern of the names that it gives.'),
      undoes: BulkActionId.optional().describe('The bulk action that this one undoes.'),
      undoneBy: BulkActionId.optional().describe('The bulk action that undoes this one.'),
      undoForSecs: U32.optional().describe('Seconds for which `devices_StartBulkUndo` can still undo it.'),
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
          changes: z
            .array(Change)
            .optional()
            .describe('Changes of labels and names, made or to be made if it is not skipped.'),
          row: U32.optional().describe('Number of the row of an import.'),
        }),
      ),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
}
