import { useQueryClient } from '@tanstack/react-query'
import { invoke } from '../../../api/client.ts'
import { invalidateActions } from '../../../api/queries.ts'
import { announce } from '../../../lib/announce.ts'
import { type Held, heldRequest, useSendOnLeave } from '../../../lib/app/held-request.ts'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { useExternalStore } from '../../../lib/external-store.ts'
import { toastError } from '../../../ui/app/toast.ts'

type Decision = { certificateId: string; status: 'Active' | 'Rejected' }

/** A decision on one certificate that can be undone: it waits 10 s before it is sent, or it is sent and its answer is awaited. */
export type HeldDecision = Held<Decision>

/** Query actions whose answers change when a certificate of a device is accepted, rejected, revoked or deleted. */
export const SHOW_CERTIFICATES = [
  'devices_GetDetails',
  'projects_QueryDevices',
  'projects_GetSummary',
  'projects_QueryPendingCertificates',
] as const

const held = heldRequest<Decision>(
  async (queryClient, { certificateId, status, askedBy }) => {
    const input = { certificateId: certificateId as never, status, askedBy }
    await invoke('devices_SetCertificateStatus', input, { keepalive: true })
    await invalidateActions(queryClient, SHOW_CERTIFICATES).catch(() => {})
  },
  ({ status }, reason) =>
    toastError(`Could not ${status === 'Active' ? 'accept' : 'reject'} the certificate`, reason),
)

/** Cancels a decision that waits. Returns `false` if there is none. */
export const undoDecision = held.undo

/** The held decision on a certificate, or `undefined`. */
export function useHeldDecision(certificateId: string): HeldDecision | undefined {
  const decision = useExternalStore(held.store)
  return decision?.certificateId === certificateId ? decision : undefined
}

/** Part of the page of a device that sends a waiting decision when the page is left. The key `z` undoes the decision. */
export function useDecisionsOfPage(deviceId: string) {
  useShortcut('z', 'Undo the decision', undoDecision)
  useSendOnLeave(held.send, deviceId)
}

/** Function that accepts or rejects a certificate in 10 s, unless it is undone. A decision that already waits is sent first. */
export function useHoldDecision(): (decision: Decision) => void {
  const queryClient = useQueryClient()
  return decision => {
    held.start(queryClient, decision)
    announce(
      `The certificate will be ${decision.status === 'Active' ? 'accepted' : 'rejected'} in 10 seconds.`,
    )
  }
}
