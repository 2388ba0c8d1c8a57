import { COMMAND_KINDS } from './hostile-commands.ts'
import { CONNECTION_KINDS } from './hostile-connections.ts'
import { DEVICE_KINDS } from './hostile-devices.ts'
import type { HostileKind } from './hostile-kind.ts'

/** All kinds of attacks. */
export const HOSTILE_KINDS: readonly HostileKind[] = [...DEVICE_KINDS, ...CONNECTION_KINDS, ...COMMAND_KINDS]
