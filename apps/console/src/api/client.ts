import { type ActionName, createClient, type Invoke } from '@muster/actions/client'
import { parseLossless } from '@muster/actions/exact-json'

/** Names that the console's requests use (docs/product.md 7), by action. */
const names = { users_Create: 'users_CreateUser', users_Delete: 'users_DeleteUser' }

const plain = createClient({ names })
const exact = createClient({ names, parse: parseLossless })

/** Actions that answer JSON written by devices. Its numbers may exceed the range of JavaScript's. */
const OF_DEVICES: ReadonlySet<ActionName> = new Set<ActionName>([
  'devices_GetProperty',
  'devices_QueryProperties',
  'devices_QueryPropertyHistory',
  'devices_QueryEvents',
])

/** Runs an action on the hub that served this page. Rejects with `ActionError`. */
export const invoke: Invoke = (name, ...rest) => (OF_DEVICES.has(name) ? exact : plain)(name, ...rest)
