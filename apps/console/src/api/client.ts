import { createClient } from '@muster/actions/client'

/** Runs an action on the hub this page came from; rejects with `ActionError`. */
export const invoke = createClient()
