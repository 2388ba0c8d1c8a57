import { useRef } from 'react'
import { useShortcut } from '../../../lib/app/shortcuts.ts'

/**
 * Binds the key `a` to the focus of the actions in a bar below a long list, which Tab would reach after all rows. It decides nothing:
 * Enter does, on the button that has the focus. Returns the ref of the bar.
 */
export function useActionsShortcut() {
  const bar = useRef<HTMLElement>(null)
  useShortcut('a', 'Go to the actions of the selection', () => {
    const button =
      bar.current?.querySelector<HTMLElement>('.acts .btn.primary:not(:disabled)') ??
      bar.current?.querySelector<HTMLElement>('.acts .btn:not(:disabled)')
    if (!button) return false
    button.focus()
  })
  return bar
}
