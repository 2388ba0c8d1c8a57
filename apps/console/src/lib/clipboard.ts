/** Copies text and returns whether that worked. On plain HTTP, which has no clipboard API, falls back to `execCommand`. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text)
      return true
    }
  } catch {
    // The clipboard API was denied; `execCommand` may still be allowed.
  }
  return copyBySelection(text)
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement
  const area = document.createElement('textarea')
  area.value = text
  area.readOnly = true
  area.className = 'visually-hidden'
  // While a modal dialog is open, text outside of it is inert and cannot be selected, so the text area is added to the
  // dialog.
  const host = document.querySelector('dialog[open]') ?? document.body
  host.append(area)
  area.select()
  try {
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    area.remove()
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }
}
