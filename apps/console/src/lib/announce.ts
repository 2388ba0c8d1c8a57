const regions = new WeakMap<Element, HTMLElement>()

/** Says a short sentence to screen readers, politely. */
export function announce(text: string) {
  // Outside an open modal dialog everything is inert, live regions too.
  const host = document.querySelector('dialog[open]') ?? document.body
  let region = regions.get(host)
  if (!region?.isConnected) {
    region = document.createElement('div')
    region.className = 'sr'
    region.setAttribute('role', 'status')
    host.append(region)
    regions.set(host, region)
  }
  const target = region
  target.textContent = ''
  // A region must be in the page before its text changes, or nobody hears it.
  setTimeout(() => {
    target.textContent = text
  }, 50)
}
