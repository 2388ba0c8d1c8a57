import { useRef } from 'react'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import styles from './bar.module.css'

/**
 * Binds the key `a`, which moves the focus to the action bar below a long list. Tab would reach the bar only after all rows. The key runs
 * no action; Enter then presses the focused button. Returns the ref of the bar.
 */
export function useActionsShortcut() {
  const bar = useRef<HTMLElement>(null)
  useShortcut('a', 'Go to the actions of the selection', () => {
    const button =
      bar.current?.querySelector<HTMLElement>(
        `.${styles.actions} .button[data-variant="primary"]:not(:disabled)`,
      ) ?? bar.current?.querySelector<HTMLElement>(`.${styles.actions} .button:not(:disabled)`)
    if (!button) return false
    button.focus()
  })
  return bar
}
