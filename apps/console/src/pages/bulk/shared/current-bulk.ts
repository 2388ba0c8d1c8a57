import type { QueryClient } from '@tanstack/react-query'
import { invoke } from '../../../api/client.ts'
import { announce } from '../../../lib/announce.ts'
import { heldRequest } from '../../../lib/app/held-request.ts'
import { toastError } from '../../../ui/app/toast.ts'
import { heldBulk, type Previewed, startedBulk } from './bulk-store.ts'
import { doneWord, itemsOfPreview, MAX_INLINE } from './bulk-words.ts'
import { type BulkPreview, refetchChanged, START_ACTIONS } from './use-bulk-run.ts'

const held = heldRequest<Previewed>(
  async (queryClient, { projectId, askedBy, preview }) => {
    const input = { projectId, bulkActionId: preview.bulkActionId, askedBy }
    await invoke(START_ACTIONS[preview.kind], input, { keepalive: true })
    showStartedBulk(projectId, preview.bulkActionId)
    void refetchChanged(queryClient)
  },
  ({ preview }, reason) =>
    toastError(`The ${itemsOfPreview(preview)} were not ${doneWord(preview.kind)}`, reason),
  heldBulk,
)

/**
 * Whether a previewed bulk action waits 10 s before it is sent. Accepting several does not, because devices wait for it, and each can be
 * revoked. More than 200 items are a job, which waits at the hub.
 */
export function isHeldBulk({ kind, itemCount }: BulkPreview): boolean {
  return itemCount <= MAX_INLINE && (kind !== 'Accept' || itemCount === 1)
}

/** Holds back a previewed bulk action for 10 s, unless it is undone. One that already waits is sent first. */
export function holdBulk(queryClient: QueryClient, { projectId, preview }: Previewed) {
  startedBulk.set(undefined)
  held.start(queryClient, { projectId, preview })
  announce(`${itemsOfPreview(preview)} will be ${doneWord(preview.kind)} in 10 seconds.`)
}

/** Shows the progress and result of a started bulk action in the list of its project, until the user dismisses the result. */
export function showStartedBulk(projectId: string, bulkActionId: string) {
  startedBulk.set({ state: 'started', projectId, bulkActionId })
}

/** Cancels a bulk action that waits, or dismisses a started one. One that was sent and not answered yet is not affected. */
export function closeBulk() {
  if (!held.undo() && !held.store.get()) startedBulk.set(undefined)
}

/** Sends a waiting bulk action immediately. Synchronous up to the request, so that it works while the page closes. */
export const sendBulk = held.send
