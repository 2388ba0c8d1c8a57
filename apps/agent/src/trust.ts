import { execFile } from 'node:child_process'
import tls from 'node:tls'
import { promisify } from 'node:util'

const READ_TIMEOUT_MS = 30_000
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

/**
 * Makes this process also trust the operating system's certificate authorities, as published Nexigon agents do (docs/protocol.md 1.3).
 * Operators add their own authority to the system's store, but Node by default trusts only its bundled list.
 */
export function trustSystemAuthorities(): void {
  // Node has done so already when it was started with this option (small-process.ts).
  if (!process.execArgv.includes('--use-system-ca')) trust(tls.getCACertificates('system'))
}

/**
 * Trusts the certificate authorities that are in the system's store at this moment. An agent runs for years while authorities are
 * replaced, but Node reads the store only once per process. Therefore a child process reads the store.
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
  // Node before 24.5 lacks `setDefaultCACertificates`. In these versions tools/require-node.js starts the process with the
  // system's authorities, and renewed authorities need a restart.
  if ('setDefaultCACertificates' in tls)
    tls.setDefaultCACertificates([
      ...new Set([...tls.getCACertificates('bundled'), ...tls.getCACertificates('extra'), ...system]),
    ])
}
