/** The text that this browser stores under a key; `undefined` if there is none or storage is forbidden. */
export function readLocalStorage(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** Stores a text in this browser; `undefined` removes it. */
export function writeLocalStorage(key: string, text: string | undefined) {
  try {
    if (text === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  } catch {
    // Storage may be forbidden. Callers also keep the value in memory, so the choice lasts until the page is reloaded.
  }
}
