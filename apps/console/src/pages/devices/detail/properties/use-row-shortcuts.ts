import { useShortcut } from '../../../../lib/app/shortcuts.ts'

/** Keys that work in the focused row of a property: edit, history of its values, pin. */
export type RowKey = 'e' | 'h' | 'p'

/** Binds the keyboard shortcuts of property rows. They do nothing unless a row, or something in it, has the focus. */
export function useRowShortcuts() {
  useShortcut('e', 'Edit the property', () => press('e'))
  useShortcut('h', 'Past values of the property', () => press('h'))
  useShortcut('p', 'Pin the property', () => press('p'))
}

function press(key: RowKey) {
  const row = document.activeElement?.closest('[data-row]')
  const button = row?.querySelector<HTMLElement>(`[data-key="${key}"]`)
  if (!button) return false
  button.click()
}
