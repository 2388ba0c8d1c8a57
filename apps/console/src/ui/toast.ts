import { UserCancelledError } from '../lib/confirm.ts'
import { held, useHeld } from '../lib/held.ts'

/** One notice in the corner. */
export type ToastNotice = {
  key: number
  text: string
  /** Why it failed; absent when it worked. */
  error?: unknown
}

const MOST = 3
const notices = held<readonly ToastNotice[]>([])
let nextKey = 1

function add(notice: Omit<ToastNotice, 'key'>) {
  notices.set([...notices.get(), { ...notice, key: nextKey++ }].slice(-MOST))
}

/** Says that something worked, with the name of its thing: "Device renamed to edge-gateway-07." */
export function toast(text: string) {
  add({ text })
}

/** Says that a plain button failed and why; a declined confirmation stays silent. */
export function toastError(text: string, error: unknown) {
  if (!(error instanceof UserCancelledError)) add({ text, error })
}

/** Removes a notice. */
export function dismissToast(key: number) {
  notices.set(notices.get().filter(notice => notice.key !== key))
}

/** The notices on screen. */
export function useToasts(): readonly ToastNotice[] {
  return useHeld(notices)
}
