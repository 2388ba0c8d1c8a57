import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { externalStore } from '../external-store.ts'
import { type Click, clickNow, tooLate, UNDO_MS } from './undo-time.ts'

/** A request that waits 10 s before it is sent, or that is sent and whose answer is awaited. */
export type Held<Item> = Item & Click & { state: 'waiting' | 'sent' }

const settles = new Set<(queryClient: QueryClient) => Promise<void>>()

/** Sends all held requests and resolves after their answers. Never rejects. */
export async function settleHeld(queryClient: QueryClient): Promise<void> {
  await Promise.all([...settles].map(settle => settle(queryClient)))
}

/**
 * Holds back one request for 10 s after its click, so that it can be undone. A request that already waits is sent when the next one begins.
 *
 * @param request sends the request, with `keepalive` and without waiting before it, so that it outlives the page.
 * @param refused called when the request was refused, or is too old to be sent.
 * @param current store of the request.
 */
export function heldRequest<Item extends object>(
  request: (queryClient: QueryClient, item: Held<Item>) => Promise<void>,
  refused: (item: Item, reason: Error) => void,
  current = externalStore<Held<Item> | undefined>(undefined),
) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let answer: Promise<void> = Promise.resolve()

  /** Sends a waiting request immediately. Synchronous up to the request, so that it works while the page closes. */
  function send(queryClient: QueryClient) {
    const item = current.get()
    if (item?.state !== 'waiting') return
    clearTimeout(timer)
    const reason = tooLate(item)
    if (reason) {
      current.set(undefined)
      refused(item, reason)
      return
    }
    const sent: Held<Item> = { ...item, state: 'sent' }
    current.set(sent)
    const forget = () => {
      if (current.get() === sent) current.set(undefined)
    }
    answer = request(queryClient, sent).then(forget, (error: Error) => {
      forget()
      refused(sent, error)
    })
  }

  settles.add(async queryClient => {
    send(queryClient)
    await answer
  })
  return {
    store: current,
    send,
    start(queryClient: QueryClient, item: Item) {
      send(queryClient)
      current.set({ ...item, ...clickNow(), state: 'waiting' })
      timer = setTimeout(() => send(queryClient), UNDO_MS)
    },
    /** Cancels a waiting request. Returns `false` if there is none. */
    undo(): boolean {
      if (current.get()?.state !== 'waiting') return false
      clearTimeout(timer)
      current.set(undefined)
      return true
    },
  }
}

const leaving = new Map<(queryClient: QueryClient) => void, ReturnType<typeof setTimeout>>()

/** Sends a request that still waits for its Undo time to end, when the page is left or closed. `place` names the page. */
export function useSendOnLeave(send: (queryClient: QueryClient) => void, place: string) {
  const queryClient = useQueryClient()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the place also counts as leaving the page
  useEffect(() => {
    const leave = () => send(queryClient)
    clearTimeout(leaving.get(send))
    addEventListener('pagehide', leave)
    return () => {
      removeEventListener('pagehide', leave)
      // React's strict mode unmounts and mounts again in one task. The new mount cancels this timer, so that nothing is sent.
      leaving.set(send, setTimeout(leave))
    }
  }, [place, queryClient, send])
}
