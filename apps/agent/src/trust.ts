import { execFile } from 'node:child_process'
import tls from 'node:tls'
import { promisify } from 'node:util'

const READ_TIMEOUT_MS = 30_000
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

/**
 * Makes this process also trust the operating system's certificate authorities, as public agents do (protocol 1.3).
 * Operators add their own authority there; Node itself only trusts its built-in list.
 */
export function trustSystemAuthorities(): void {
  trust(tls.getCACertificates('system'))
}

/**
 * Trusts the authorities that the system has at this moment. An agent runs for years while authorities are replaced,
 * and Node reads them once per process. A child process therefore reads them anew.
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
  // Missing before Node 24.5. There the process was started with these authorities (tools/require-node.js), and renewed
  // ones need a restart.
  if ('setDefaultCACertificates' in tls)
    tls.setDefaultCACertificates([
      ...new Set([...tls.getCACertificates('bundled'), ...tls.getCACertificates('extra'), ...system]),
    ])
}
