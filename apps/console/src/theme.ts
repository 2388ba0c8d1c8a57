import { useSyncExternalStore } from 'react'

/** The look a person chose; `system` follows the operating system. */
export type Theme = 'system' | 'light' | 'dark'

// The script in index.html reads the same key before the first paint.
const KEY = 'muster.theme'
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()
let chosen = read()

function read(): Theme {
  try {
    const stored = localStorage.getItem(KEY)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  } catch {
    return 'system'
  }
}

function apply() {
  const shown = chosen === 'system' ? (prefersDark.matches ? 'dark' : 'light') : chosen
  document.documentElement.dataset.theme = shown
}

/** Keeps the page in step with the operating system and with other tabs. */
export function followSystemTheme() {
  prefersDark.addEventListener('change', apply)
  window.addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    chosen = read()
    apply()
    for (const listener of listeners) listener()
  })
}

/** Chooses a look and remembers it in this browser. */
export function setTheme(theme: Theme) {
  chosen = theme
  try {
    if (theme === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
  apply()
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The look that is chosen. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => chosen)
}
