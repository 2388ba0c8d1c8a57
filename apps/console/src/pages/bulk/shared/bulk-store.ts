import type { Held } from '../../../lib/app/held-request.ts'
import { externalStore, useExternalStore } from '../../../lib/external-store.ts'
import type { BulkPreview } from './use-bulk-run.ts'

/** A bulk action of a project after its preview. */
export type Previewed = { projectId: string; preview: BulkPreview }

/** A bulk action after its preview that can be undone: it waits 10 s before it is sent, or it is sent and its answer is awaited. */
export type HeldBulk = Held<Previewed>

/** A bulk action that is running, or that has ended but whose result the user has not dismissed yet. */
type StartedBulk = { state: 'started'; projectId: string; bulkActionId: string }

/** The bulk action that can be undone. It is apart from the code that sends it, so that a list without one does not load that code. */
export const heldBulk = externalStore<HeldBulk | undefined>(undefined)
/** The bulk action that was started. */
export const startedBulk = externalStore<StartedBulk | undefined>(undefined)

/** The current bulk action in a project: waiting, in flight, or started and not dismissed yet. A reload forgets it. */
export function useCurrentBulk(projectId: string): HeldBulk | StartedBulk | undefined {
  const waiting = useExternalStore(heldBulk)
  const running = useExternalStore(startedBulk)
  return [waiting, running].find(bulk => bulk?.projectId === projectId)
}
