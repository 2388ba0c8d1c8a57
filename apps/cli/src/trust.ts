import tls from 'node:tls'

let isDone = false

/**
 * Makes this process also trust the operating system's certificate authorities, as the published Nexigon CLI does (docs/protocol.md 1.3,
 * 7.2). Reading the authorities takes time, so it is done only before the first TLS connection, to the URL or to the proxy on the way.
 */
export function trustSystemAuthorities(url: string, proxyUrl = ''): void {
  if (isDone || ![url, proxyUrl].some(text => text.startsWith('https:'))) return
  isDone = true
  // Node before 24.5 lacks `setDefaultCACertificates`. In these versions tools/require-node.js starts the process with the
  // system's authorities.
  if ('setDefaultCACertificates' in tls)
    tls.setDefaultCACertificates([
      ...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')]),
    ])
}
