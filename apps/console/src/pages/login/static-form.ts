import { type RefObject, useLayoutEffect } from 'react'

/** Values of the sign-in form. */
export type Credentials = { email: string; password: string; rememberMe: boolean }

const staticForm = () => document.querySelector<HTMLFormElement>('#static form')

/** Reads the values of the static sign-in form in login.html (apps/console/login-file.ts). They are empty on a page without that form. */
export function typedCredentials(): Credentials {
  const typed = globalThis.document && staticForm()
  const input = (name: keyof Credentials) => typed?.querySelector<HTMLInputElement>(`[name=${name}]`)
  return {
    email: input('email')?.value ?? '',
    password: input('password')?.value ?? '',
    rememberMe: input('rememberMe')?.checked ?? false,
  }
}

/**
 * Replaces the static sign-in form by this one, which gets its focus and a submit that waited. Runs before the first paint of this form, so
 * that no key press is lost.
 */
export function useReplacedStaticForm(element: RefObject<HTMLFormElement | null>) {
  useLayoutEffect(() => {
    const before = staticForm()
    if (!before) return
    const { activeElement } = document
    if (activeElement instanceof HTMLInputElement && before.contains(activeElement))
      element.current?.querySelector<HTMLElement>(`[name=${activeElement.name}]`)?.focus()
    const isSent = before.dataset.sent !== undefined
    document.getElementById('static')?.remove()
    if (isSent) queueMicrotask(() => element.current?.requestSubmit())
  }, [element])
}
