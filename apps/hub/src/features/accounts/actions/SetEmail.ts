import { handler } from '../../../platform/pipeline/handler.ts'
import { setEmail } from '../email-change.ts'

/** Changes the address of any account without proof that its owner reads mail there. Throws `Invalid` (409) for an address that is not stable. */
export const users_SetEmail = handler('users_SetEmail', async (context, { userId, email }) => {
  const isChanged = await setEmail(context, { userId, email, by: 'administrator' })
  return { result: isChanged ? ('Updated' as const) : ('EmailAlreadyExists' as const) }
})
