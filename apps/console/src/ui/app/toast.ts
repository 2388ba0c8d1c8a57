import { UserCancelledError } from '../../lib/app/confirm.ts'
import { externalStore, useExternalStore } from '../../lib/external-store.ts'

/** A notice in a corner of the page. */
export type ToastNotice = {
  key: number
  text: string
  /** The error; absent after success. */
  error?: unknown
  /** Called when the user presses Undo. Success notices with this function offer the button Undo for 10 s. */
  undo?: () => void
}

const MOST = 3
const notices = externalStore<readonly ToastNotice[]>([])
let nextKey = 1

function add(notice: Omit<ToastNotice, 'key'>) {
  notices.set([...notices.get(), { ...notice, key: nextKey++ }].slice(-MOST))
}

/** Shows a success notice. The text names the entity: "Device renamed to edge-gateway-07." */
export function toast(text: string) {
  add({ text })
}

/** Shows a success notice with the button Undo for 10 s. */
export function toastUndo(text: string, undo: () => void) {
  add({ text, undo })
}

/** Shows a failure notice for a button outside of a form. A declined confirmation shows nothing. */
export function toastError(text: string, error: unknown) {
  if (!(error instanceof UserCancelledError)) add({ text, error })
}

/** Removes a notice. */
export function dismissToast(key: number) {
  notices.set(notices.get().filter(notice => notice.key !== key))
}

/** The notices on screen. */
export function useToasts(): readonly ToastNotice[] {
  return useExternalStore(notices)
}
