import type { QueryClient } from '@tanstack/react-query'
import { invoke } from '../../api/client.ts'
import { announce } from '../../lib/announce.ts'
import { counted } from '../../lib/app/format.ts'
import { externalStore, useExternalStore } from '../../lib/external-store.ts'
import { toastError } from '../../ui/app/toast.ts'
import { type Click, clickNow, tooLate, UNDO_MS } from '../devices/deleting/undo-time.ts'
import type { BulkPreview } from './use-bulk-run.ts'
import { refetchChanged } from './use-bulk-run.ts'

/** A deletion after its preview: it waits 10 s before it is sent, or it is sent and its answer is awaited. */
export type WaitingDeletion = Click & {
  state: 'waiting' | 'sent'
  projectId: string
  preview: BulkPreview
}

/** A bulk action that is running, or that has ended but whose result the user has not dismissed yet. */
type StartedBulk = { state: 'started'; projectId: string; bulkActionId: string }

const current = externalStore<WaitingDeletion | StartedBulk | undefined>(undefined)
let timer: ReturnType<typeof setTimeout> | undefined
let answer: Promise<void> = Promise.resolve()

/** Starts a deletion of several devices that is sent after 10 s, unless it is undone. A deletion that already waits is sent first. */
export function startBulkDeletion(
  queryClient: QueryClient,
  deletion: Pick<WaitingDeletion, 'projectId' | 'preview'>,
) {
  sendBulkDeletion(queryClient)
  clearTimeout(timer)
  current.set({ ...deletion, ...clickNow(), state: 'waiting' })
  timer = setTimeout(() => sendBulkDeletion(queryClient), UNDO_MS)
  announce(`${counted(deletion.preview.itemCount, 'device')} will be deleted in 10 seconds.`)
}

/** Shows the progress and result of a started bulk action in the list of its project, until the user dismisses the result. */
export function showStartedBulk(projectId: string, bulkActionId: string) {
  current.set({ state: 'started', projectId, bulkActionId })
}

/** Cancels a deletion that waits, or dismisses a started bulk action. A deletion that was sent and not answered yet is not affected. */
export function closeBulk() {
  if (current.get()?.state === 'sent') return
  clearTimeout(timer)
  current.set(undefined)
}

/** Sends a waiting deletion immediately. Synchronous up to the request, so that it works while the page closes. */
export function sendBulkDeletion(queryClient: QueryClient) {
  const deletion = current.get()
  if (deletion?.state !== 'waiting') return
  clearTimeout(timer)
  const reason = tooLate(deletion)
  if (reason) {
    current.set(undefined)
    toastError('The devices were not deleted', reason)
    return
  }
  current.set({ ...deletion, state: 'sent' })
  const { projectId, askedBy, preview } = deletion
  const input = { projectId, bulkActionId: preview.bulkActionId, askedBy }
  answer = invoke('devices_StartBulkDeletion', input, { keepalive: true }).then(
    async () => {
      showStartedBulk(projectId, preview.bulkActionId)
      await refetchChanged(queryClient)
    },
    (error: Error) => {
      current.set(undefined)
      toastError('The devices were not deleted', error)
    },
  )
}

/** Sends a waiting deletion and resolves after its answer. Never rejects. */
export async function settleBulkDeletion(queryClient: QueryClient): Promise<void> {
  sendBulkDeletion(queryClient)
  await answer
}

/** The current bulk action in the device list of a project: waiting, in flight, or started and not dismissed yet. A reload forgets it. */
export function useCurrentBulk(projectId: string): WaitingDeletion | StartedBulk | undefined {
  const bulk = useExternalStore(current)
  return bulk?.projectId === projectId ? bulk : undefined
}
