import { getCACertificates, setDefaultCACertificates } from 'node:tls'

let isDone = false

/**
 * Before the first connection to an address with TLS: makes this process trust the certificate authorities of the operating system
 * as well, as the public command line does (protocol 1.3, 7.2). Reading them takes time that other addresses need not wait for.
 */
export function trustSystemAuthorities(url: string): void {
  if (isDone || !url.startsWith('https:')) return
  isDone = true
  setDefaultCACertificates([...new Set([...getCACertificates('default'), ...getCACertificates('system')])])
}
