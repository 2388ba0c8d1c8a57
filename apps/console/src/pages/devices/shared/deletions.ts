import type { QueryClient } from '@tanstack/react-query'
import { invoke } from '../../../api/client.ts'
import { invalidateActions, setGone } from '../../../api/queries.ts'
import { announce } from '../../../lib/announce.ts'
import { type Click, clickNow, tooLate, UNDO_MS } from '../../../lib/app/undo-time.ts'
import { externalStore, useExternalStore } from '../../../lib/external-store.ts'
import { toastError } from '../../../ui/app/toast.ts'

/** A device that is about to be deleted, or whose deletion was refused. */
export type Deletion = Click & {
  projectId: string
  deviceId: string
  name: string
  state: 'waiting' | 'sent' | 'refused'
  reason?: Error
}

/** Maximum time for which a sign-out waits until the hub has answered the deletions. */
const SETTLE_MS = 30_000

const deletions = externalStore<readonly Deletion[]>([])
const timers = new Map<string, ReturnType<typeof setTimeout>>()
const answers = new Map<string, Promise<void>>()
/** Projects whose device list is on screen. The list shows a refused deletion in the row of the device. */
const listed = new Set<string>()

function update(deviceId: string, change: Partial<Deletion>) {
  deletions.set(deletions.get().map(each => (each.deviceId === deviceId ? { ...each, ...change } : each)))
}

function remove(deviceId: string) {
  clearTimeout(timers.get(deviceId))
  timers.delete(deviceId)
  deletions.set(deletions.get().filter(each => each.deviceId !== deviceId))
}

/** Starts a deletion that is sent after 10 s, unless `undoDeletion` is called before. */
export function startDeletion(
  queryClient: QueryClient,
  device: Pick<Deletion, 'projectId' | 'deviceId' | 'name'>,
) {
  const { deviceId, name } = device
  if (deletions.get().some(each => each.deviceId === deviceId && each.state !== 'refused')) return
  remove(deviceId)
  deletions.set([...deletions.get(), { ...device, ...clickNow(), state: 'waiting' }])
  addEventListener('pagehide', () => sendAll(queryClient), { once: true })
  timers.set(
    deviceId,
    setTimeout(() => void send(queryClient, deviceId), UNDO_MS),
  )
  announce(`${name} will be deleted in 10 seconds. Undo is in its row.`)
}

/** Cancels a deletion that was not sent yet, or dismisses a refusal. */
export function undoDeletion(deviceId: string) {
  if (deletions.get().some(each => each.deviceId === deviceId && each.state !== 'sent')) remove(deviceId)
}

/** Cancels the newest waiting deletion. Returns `false` if there is none. */
export function undoLast(): boolean {
  const last = deletions.get().findLast(each => each.state === 'waiting')
  if (last) remove(last.deviceId)
  return last !== undefined
}

/** Sends all waiting deletions immediately. Synchronous up to the requests, so that it works while the page closes. */
export function sendAll(queryClient: QueryClient) {
  for (const { state, deviceId } of deletions.get()) if (state === 'waiting') void send(queryClient, deviceId)
}

/** Sends all waiting deletions and resolves after the answers, after 30 s at the latest. Never rejects. */
export async function settleDeletions(queryClient: QueryClient): Promise<void> {
  sendAll(queryClient)
  const deadline = Promise.withResolvers<void>()
  const timer = setTimeout(deadline.resolve, SETTLE_MS)
  await Promise.race([Promise.all(answers.values()), deadline.promise])
  clearTimeout(timer)
}

/** Marks the list of a project as on screen, until the returned function is called. */
export function showList(projectId: string): () => void {
  listed.add(projectId)
  return () => void listed.delete(projectId)
}

function send(queryClient: QueryClient, deviceId: string): Promise<void> {
  const deletion = deletions.get().find(each => each.deviceId === deviceId)
  if (deletion?.state !== 'waiting') return Promise.resolve()
  clearTimeout(timers.get(deviceId))
  timers.delete(deviceId)
  const reason = tooLate(deletion)
  if (reason) {
    refuse(deletion, reason)
    return Promise.resolve()
  }
  update(deviceId, { state: 'sent' })
  setGone(deviceId, true)
  const input = { deviceId, askedBy: deletion.askedBy }
  const answer = invoke('devices_Delete', input, { keepalive: true })
    .then(
      async () => {
        await refetch(queryClient)
        remove(deviceId)
      },
      async (error: Error) => {
        setGone(deviceId, false)
        await refetch(queryClient)
        refuse(deletion, error)
      },
    )
    .finally(() => answers.delete(deviceId))
  answers.set(deviceId, answer)
  return answer
}

function refuse(deletion: Deletion, reason: Error) {
  update(deletion.deviceId, { state: 'refused', reason })
  if (!listed.has(deletion.projectId)) toastError(`${deletion.name} was not deleted`, reason)
}

function refetch(queryClient: QueryClient): Promise<void> {
  return invalidateActions(queryClient, [
    'projects_QueryDevices',
    'projects_GetSummary',
    'projects_GetDetails',
  ]).catch(() => {})
}

/** All deletions of this page load that are waiting, sent or refused. */
export function useDeletions(): readonly Deletion[] {
  return useExternalStore(deletions)
}

/** The deletion of a device, or `undefined`. */
export function useDeletion(deviceId: string): Deletion | undefined {
  return useDeletions().find(each => each.deviceId === deviceId)
}
