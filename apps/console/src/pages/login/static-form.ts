import { type RefObject, useLayoutEffect } from 'react'

/** Values of the sign-in form. */
export type Credentials = { email: string; password: string; rememberMe: boolean }

const staticForm = () => document.querySelector<HTMLFormElement>('#static form')

/** Values of a form that nobody has filled in. */
export const NO_CREDENTIALS: Credentials = { email: '', password: '', rememberMe: false }

const valuesOf = (form: HTMLFormElement): Credentials => {
  const input = (name: keyof Credentials) => form.querySelector<HTMLInputElement>(`[name=${name}]`)!
  return {
    email: input('email').value,
    password: input('password').value,
    rememberMe: input('rememberMe').checked,
  }
}

/**
 * Replaces the static sign-in form in login.html (apps/console/login-file.ts) by this one, which gets its values, its focus and a submit that
 * waited. A button that is held down counts as a submit, because its click would be lost. Runs before the first paint of this form, so that no
 * key press is lost. A page may lack the static form.
 */
export function useReplacedStaticForm(
  element: RefObject<HTMLFormElement | null>,
  fill: (typed: Credentials) => void,
) {
  useLayoutEffect(() => {
    const before = staticForm()
    if (!before) return
    fill(valuesOf(before))
    const { activeElement } = document
    if (activeElement instanceof HTMLInputElement && before.contains(activeElement))
      element.current?.querySelector<HTMLElement>(`[name=${activeElement.name}]`)?.focus()
    const isSent = before.dataset.sent !== undefined || before.querySelector('[type=submit]:active') !== null
    document.getElementById('static')?.remove()
    if (isSent) queueMicrotask(() => element.current?.requestSubmit())
  }, [element, fill])
}
