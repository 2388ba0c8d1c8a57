import { UserCancelledError } from '../lib/confirm.ts'
import { messageOf } from './ErrorText.tsx'
import { isSignedOut } from './is-signed-out.ts'

/** One notice in the corner. */
export type ToastNotice = {
  key: number
  tone: 'ok' | 'bad'
  title?: string
  text: string
  isSignedOut: boolean
}

const MOST = 3
let notices: readonly ToastNotice[] = []
let nextKey = 1
const listeners = new Set<() => void>()

function set(next: readonly ToastNotice[]) {
  notices = next
  for (const listener of listeners) listener()
}

function add(notice: Omit<ToastNotice, 'key'>) {
  set([...notices, { ...notice, key: nextKey++ }].slice(-MOST))
}

/** Says that something worked, with the name of its thing: "Device renamed to edge-gateway-07." */
export function toast(text: string) {
  add({ tone: 'ok', text, isSignedOut: false })
}

/** Says that a plain button failed and why; a declined confirmation stays silent. */
export function toastError(title: string, error: unknown) {
  if (error instanceof UserCancelledError) return
  add({
    tone: 'bad',
    title,
    text: messageOf(error),
    isSignedOut: isSignedOut(error),
  })
}

/** Removes a notice. */
export function dismissToast(key: number) {
  set(notices.filter(notice => notice.key !== key))
}

/** The notices on screen, for `useSyncExternalStore`. */
export const toastStore = {
  subscribe(listener: () => void) {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
  get: () => notices,
}
