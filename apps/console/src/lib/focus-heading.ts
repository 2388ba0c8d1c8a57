const GIVE_UP_MS = 5000

/**
 * Focuses the page's heading. If the heading is not rendered yet, waits for it up to 5 s, unless the user moves the focus meanwhile.
 * Returns a function that stops the wait.
 */
export function focusHeading(): () => void {
  const before = document.activeElement
  const tryNow = () => {
    const heading = document.querySelector<HTMLElement>('main h1')
    heading?.focus({ preventScroll: true })
    return heading !== null
  }
  if (tryNow()) return () => {}
  const observer = new MutationObserver(() => {
    const movedOn = document.activeElement !== before && document.activeElement !== document.body
    if (movedOn || tryNow()) observer.disconnect()
  })
  observer.observe(document.body, { childList: true, subtree: true })
  const timer = setTimeout(() => observer.disconnect(), GIVE_UP_MS)
  return () => {
    clearTimeout(timer)
    observer.disconnect()
  }
}

/** Focuses the heading if the focused element has disappeared, for example the button that opened a dialog. */
export function keepFocus() {
  if (document.activeElement === document.body) focusHeading()
}
