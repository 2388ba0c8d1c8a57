import { type ActionName, createClient, type Invoke } from '@muster/actions/client'
import { parseExactly } from '../lib/exact-json.ts'

/** Names of spec 7 under which actions are asked for. */
const names = { users_Create: 'users_CreateUser', users_Delete: 'users_DeleteUser' }

const plain = createClient({ names })
const exact = createClient({ names, parse: parseExactly })

/** Actions that answer what devices have written, in which any number may stand. */
const OF_DEVICES: ReadonlySet<ActionName> = new Set<ActionName>([
  'devices_QueryProperties',
  'devices_QueryPropertyHistory',
  'devices_QueryEvents',
])

/** Runs an action on the hub this page came from; rejects with `ActionError`. */
export const invoke: Invoke = (name, ...rest) => (OF_DEVICES.has(name) ? exact : plain)(name, ...rest)
