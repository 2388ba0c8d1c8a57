import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

const PROCESS = randomBytes(8).toString('hex')

/**
 * Value of `X-Agent-Instance`: the boot of the machine and the process of the agent, `BOOT.PROCESS` (docs/protocol.md 1.2). From it the hub
 * tells one machine that reconnects from two machines with one identity. Systems without a boot id get one for each process.
 */
export function agentInstance(): string {
  return `${bootId()}.${PROCESS}`
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return PROCESS
  }
}
