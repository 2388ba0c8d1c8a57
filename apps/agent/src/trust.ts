import { getCACertificates, setDefaultCACertificates } from 'node:tls'

/**
 * Makes this process trust the certificate authorities of the operating system as well, as public agents do (protocol 1.3): operators
 * put their own authority there. Node itself only knows those that it was built with.
 */
export function trustSystemAuthorities(): void {
  setDefaultCACertificates([...new Set([...getCACertificates('default'), ...getCACertificates('system')])])
}
