const regions = new WeakMap<Element, HTMLElement>()

/** Announces a short sentence to screen readers through a polite live region. */
export function announce(text: string) {
  // While a modal dialog is open, everything outside of it is inert, so the live region must be inside the dialog.
  const host = document.querySelector('dialog[open]') ?? document.body
  let region = regions.get(host)
  if (!region?.isConnected) {
    region = document.createElement('div')
    region.className = 'visually-hidden'
    region.setAttribute('role', 'status')
    host.append(region)
    regions.set(host, region)
  }
  const target = region
  target.textContent = ''
  // Screen readers announce only changes of a region that the page already had, so a new region gets its text 50 ms later.
  setTimeout(() => {
    target.textContent = text
  }, 50)
}
