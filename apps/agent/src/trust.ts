import { execFile } from 'node:child_process'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'

const READ_TIMEOUT_MS = 30_000
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

/**
 * Makes this process trust the certificate authorities of the operating system as well, as public agents do (protocol 1.3): operators
 * put their own authority there. Node itself only knows those that it was built with.
 */
export function trustSystemAuthorities(): void {
  trust(getCACertificates('system'))
}

/**
 * The same with those that the system has by now: an agent runs for years, and authorities are replaced meanwhile. Node reads them once
 * in the life of a process, so another one is asked.
 */
export async function trustRenewedAuthorities(): Promise<void> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--print', 'JSON.stringify(tls.getCACertificates("system"))'],
    { timeout: READ_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES },
  )
  trust(JSON.parse(stdout) as string[])
}

function trust(system: string[]): void {
  setDefaultCACertificates([
    ...new Set([...getCACertificates('bundled'), ...getCACertificates('extra'), ...system]),
  ])
}
