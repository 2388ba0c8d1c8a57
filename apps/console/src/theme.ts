import { externalStore, useExternalStore } from './lib/external-store.ts'
import { readLocalStorage, writeLocalStorage } from './lib/local-storage.ts'

/** The chosen colour theme; `system` follows the operating system. */
export type Theme = 'system' | 'light' | 'dark'

// The script in index.html reads this key before the first paint.
const KEY = 'muster.theme'
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')
const chosen = externalStore(read())

function read(): Theme {
  const stored = readLocalStorage(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

function apply() {
  const theme = chosen.get()
  const shown = theme === 'system' ? (prefersDark.matches ? 'dark' : 'light') : theme
  document.documentElement.dataset.theme = shown
}

/** Applies the theme again whenever it changes in the operating system or is set in another tab. */
export function followSystemTheme() {
  prefersDark.addEventListener('change', apply)
  window.addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    chosen.set(read())
    apply()
  })
}

/** Sets the theme and stores it in this browser. */
export function setTheme(theme: Theme) {
  writeLocalStorage(KEY, theme === 'system' ? undefined : theme)
  chosen.set(theme)
  apply()
}

/** The chosen theme. */
export function useTheme(): Theme {
  return useExternalStore(chosen)
}
