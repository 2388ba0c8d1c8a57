/** What this browser remembers under a key; nothing where storage is forbidden. */
export function readStored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** Remembers a text in this browser, `undefined` forgets it. */
export function store(key: string, text: string | undefined) {
  try {
    if (text === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
}
