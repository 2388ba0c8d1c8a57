import { createClient } from '@muster/actions/client'

/** Runs an action on the hub this page came from, under the names of spec 7; rejects with `ActionError`. */
export const invoke = createClient({
  names: { users_Create: 'users_CreateUser', users_Delete: 'users_DeleteUser' },
})
