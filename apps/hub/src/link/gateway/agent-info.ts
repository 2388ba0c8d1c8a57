import { findAction } from '@muster/actions'

/** Property in which agents since January 2026 describe their system. */
const SYSTEM_INFO = 'dev.nexigon.system.info'

/**
 * Whether an action that a device sent is its system information with the member `agent`. Public agents send that member since April 2026, so
 * their link delivers data that the application has not read when ChannelClosed arrives (docs/protocol.md R-12).
 */
export function namesAgent(action: string, input: string): boolean {
  // The text is parsed only for this property, which agents write once in 30 min.
  if (!input.includes(SYSTEM_INFO) || findAction(action)?.name !== 'devices_SetProperty') return false
  try {
    const { name, value } = JSON.parse(input) as { name?: unknown; value?: { agent?: unknown } | null }
    return name === SYSTEM_INFO && typeof value?.agent === 'object' && value.agent !== null
  } catch {
    return false
  }
}
