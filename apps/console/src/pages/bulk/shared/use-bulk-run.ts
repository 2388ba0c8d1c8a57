import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { invoke } from '../../../api/client.ts'
import { invalidateActions } from '../../../api/queries.ts'
import type { DecisionKind } from './bulk-words.ts'

/** Devices by id or filter, or certificates by id. */
export type BulkSelection = ActionInput<'devices_CreateBulkDecision'>['selection']
/** Preview of a bulk action whose items the hub has stored. */
export type BulkPreview = ActionOutput<'devices_CreateBulkDecision'> & { kind: DecisionKind }

/** Lets the hub store the items of a bulk action, and resolves to its preview. Rejects with `ActionError`. */
async function previewBulk(
  projectId: string,
  kind: DecisionKind,
  selection: BulkSelection,
): Promise<BulkPreview> {
  if (kind !== 'Delete') {
    const input = { projectId, decision: kind, selection }
    return { kind, ...(await invoke('devices_CreateBulkDecision', input)) }
  }
  if (selection.kind === 'certificates') throw new TypeError('A deletion needs devices.')
  return { kind, ...(await invoke('devices_CreateBulkDeletion', { projectId, selection })) }
}

/** Action that starts a previewed bulk action, by its kind. */
export const START_ACTIONS = {
  Accept: 'devices_StartBulkDecision',
  Reject: 'devices_StartBulkDecision',
  Delete: 'devices_StartBulkDeletion',
} as const satisfies Record<DecisionKind, string>

/** Starts a previewed bulk action. Resolves when its items are done or, above 200 items, when the hub has queued it. */
async function startBulk(projectId: string, { kind, bulkActionId }: BulkPreview): Promise<string> {
  await invoke(START_ACTIONS[kind], { projectId, bulkActionId })
  return bulkActionId
}

/** Queries whose answers a bulk action changes. */
const CHANGED = [
  'projects_QueryPendingCertificates',
  'projects_QueryDevices',
  'projects_GetSummary',
  'projects_GetDetails',
  'devices_GetBulkCounts',
] as const

/** Mutations that preview and start a bulk action. Lists are fetched again after a start. */
export function useBulkRun(projectId: string) {
  const queryClient = useQueryClient()
  const preview = useMutation({
    mutationFn: ({ kind, selection }: { kind: DecisionKind; selection: BulkSelection }) =>
      previewBulk(projectId, kind, selection),
  })
  const start = useMutation({
    mutationFn: (previewed: BulkPreview) => startBulk(projectId, previewed),
    onSettled: () => refetchChanged(queryClient),
  })
  /** Kind of the bulk action that is being previewed or started; undefined if there is none. */
  const busy = preview.isPending ? preview.variables.kind : start.isPending ? start.variables.kind : undefined
  return { preview, start, busy }
}

/** Refetches the queries whose answers a bulk action changes. Never rejects. */
export function refetchChanged(queryClient: ReturnType<typeof useQueryClient>): Promise<void> {
  return invalidateActions(queryClient, CHANGED).catch(() => {})
}
