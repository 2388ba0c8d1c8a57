import { type ActionName, createClient, type Invoke } from '@muster/actions/client'
import { parseLossless } from '@muster/actions/exact-json'

/** Older action names that the console must send instead of the current names (docs/specification.md 7). */
const names = { users_Create: 'users_CreateUser', users_Delete: 'users_DeleteUser' }

const plain = createClient({ names })
const exact = createClient({ names, parse: parseLossless })

/**
 * Actions whose answers contain JSON written by devices. Its numbers may exceed the range or precision of JavaScript
 * numbers, so `parseLossless` keeps their text.
 */
const OF_DEVICES: ReadonlySet<ActionName> = new Set<ActionName>([
  'devices_GetProperty',
  'devices_QueryProperties',
  'devices_QueryPropertyHistory',
  'devices_QueryEvents',
  'devices_QueryTimeline',
])

/** Runs an action on the hub that served this page. Rejects with `ActionError`. */
export const invoke: Invoke = (name, ...rest) => (OF_DEVICES.has(name) ? exact : plain)(name, ...rest)
