import { held, useHeld } from './lib/held.ts'
import { readStored, store } from './lib/stored.ts'

/** The look a person chose; `system` follows the operating system. */
export type Theme = 'system' | 'light' | 'dark'

// The script in index.html reads the same key before the first paint.
const KEY = 'muster.theme'
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')
const chosen = held(read())

function read(): Theme {
  const stored = readStored(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

function apply() {
  const theme = chosen.get()
  const shown = theme === 'system' ? (prefersDark.matches ? 'dark' : 'light') : theme
  document.documentElement.dataset.theme = shown
}

/** Keeps the page in step with the operating system and with other tabs. */
export function followSystemTheme() {
  prefersDark.addEventListener('change', apply)
  window.addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    chosen.set(read())
    apply()
  })
}

/** Chooses a look and remembers it in this browser. */
export function setTheme(theme: Theme) {
  store(KEY, theme === 'system' ? undefined : theme)
  chosen.set(theme)
  apply()
}

/** The look that is chosen. */
export function useTheme(): Theme {
  return useHeld(chosen)
}
