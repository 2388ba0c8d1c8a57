import { type RefObject, useLayoutEffect } from 'react'

type TakingForm = {
  setFieldValue: (name: 'email' | 'password' | 'rememberMe', value: never) => void
}

/**
 * Replaces the static sign-in form of login.html by this one, which takes over what was typed, the focus, and a submit. Runs before the
 * first paint of this form, so that no key press is lost.
 */
export function useStaticForm(form: TakingForm, element: RefObject<HTMLFormElement | null>) {
  useLayoutEffect(() => {
    const before = document.getElementById('static')
    if (!before) return
    const focused = document.activeElement
    for (const input of before.querySelectorAll('input')) {
      const { name, type, checked, value } = input
      form.setFieldValue(name as 'email', (type === 'checkbox' ? checked : value) as never)
      if (input === focused) element.current?.querySelector<HTMLElement>(`[name=${name}]`)?.focus()
    }
    before.remove()
    if (before.dataset.sent !== undefined) queueMicrotask(() => element.current?.requestSubmit())
  }, [form, element])
}
