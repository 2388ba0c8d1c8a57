import type { QueryClient } from '@tanstack/react-query'
import { invoke } from '../../../api/client.ts'
import { announce } from '../../../lib/announce.ts'
import { counted } from '../../../lib/app/format.ts'
import { externalStore, useExternalStore } from '../../../lib/external-store.ts'
import { askedByNow } from '../../../session.ts'
import { toastError } from '../../../ui/app/toast.ts'
import type { BulkPreview } from './use-bulk-run.ts'
import { refetchChanged } from './use-bulk-run.ts'

/** A previewed deletion that waits 10 s before it is sent, or that was sent and has no answer yet. */
export type WaitingDeletion = {
  state: 'waiting' | 'sent'
  projectId: string
  preview: BulkPreview
  /** The person who clicked, in their session. The hub refuses the deletion from any other session. */
  askedBy: ReturnType<typeof askedByNow>
  /** `Date.now()` and `performance.now()` at the click. */
  askedAtMs: number
  askedAtTick: number
}

/** A bulk action that runs, or whose outcome is not closed yet. */
type StartedBulk = { state: 'started'; projectId: string; bulkActionId: string }

const UNDO_MS = 10_000
/** A page that wakes later than this after the click sends nothing: its user has left, and the fleet may have changed. */
const TOO_LATE_MS = 60_000

const current = externalStore<WaitingDeletion | StartedBulk | undefined>(undefined)
let timer: ReturnType<typeof setTimeout> | undefined
let answer: Promise<void> = Promise.resolve()

/** Milliseconds since the click. Two clocks, because one stops while the machine sleeps and the other can be set. */
function ageMs({ askedAtMs, askedAtTick }: WaitingDeletion): number {
  return Math.max(Date.now() - askedAtMs, performance.now() - askedAtTick)
}

/** Whole seconds until the deletion is sent, at least 0. */
export function secsLeft(deletion: WaitingDeletion): number {
  return Math.max(0, Math.ceil((UNDO_MS - ageMs(deletion)) / 1000))
}

/** Starts a deletion of several devices that is sent after 10 s, unless it is undone. Another deletion that still waits is sent at once. */
export function startBulkDeletion(
  queryClient: QueryClient,
  deletion: Pick<WaitingDeletion, 'projectId' | 'preview'>,
) {
  sendBulkDeletion(queryClient)
  clearTimeout(timer)
  const clicked = { askedBy: askedByNow(), askedAtMs: Date.now(), askedAtTick: performance.now() }
  current.set({ ...deletion, ...clicked, state: 'waiting' })
  timer = setTimeout(() => sendBulkDeletion(queryClient), UNDO_MS)
  announce(`${counted(deletion.preview.itemCount, 'device')} will be deleted in 10 seconds.`)
}

/** Shows the progress and outcome of a started bulk action in the list of its project, until it is closed. */
export function showStartedBulk(projectId: string, bulkActionId: string) {
  current.set({ state: 'started', projectId, bulkActionId })
}

/** Cancels a deletion that was not sent yet, or closes the outcome of a started bulk action. */
export function closeBulk() {
  if (current.get()?.state === 'sent') return
  clearTimeout(timer)
  current.set(undefined)
}

/** Sends a waiting deletion at once. Synchronous up to the request, so that it works while the page closes. */
export function sendBulkDeletion(queryClient: QueryClient) {
  const deletion = current.get()
  if (deletion?.state !== 'waiting') return
  clearTimeout(timer)
  if (ageMs(deletion) > TOO_LATE_MS) {
    current.set(undefined)
    const reason = new Error('The page slept for more than a minute after the click. Nothing was sent.')
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

/** The bulk action of a project's list in this page load: waiting, in flight, or started and not closed yet. */
export function useCurrentBulk(projectId: string): WaitingDeletion | StartedBulk | undefined {
  const bulk = useExternalStore(current)
  return bulk?.projectId === projectId ? bulk : undefined
}
