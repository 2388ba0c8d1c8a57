import { handler } from '../../../platform/pipeline/handler.ts'
import { setEmail } from '../email-change.ts'
import { redeemMailedToken } from '../mailed-tokens.ts'

/**
 * Makes an address that was proved with a mailed JWT the address of its account. Sessions and user tokens stay. The result is
 * `InvalidToken` for an expired, used or voided JWT, and `EmailAlreadyExists` if another account has the address meanwhile.
 */
export const users_CompleteEmailChange = handler('users_CompleteEmailChange', async (context, { token }) => {
  const claims = await context.services.jwts.verify('EmailChange', token)
  const redeemed = claims && (await redeemMailedToken(context.tx, 'EmailChange', claims))
  if (!redeemed?.newEmail) return { result: 'InvalidToken' as const }
  const { userId, newEmail: email } = redeemed
  const isChanged = await setEmail(context, { userId, email, by: 'link' })
  return { result: isChanged ? ('Completed' as const) : ('EmailAlreadyExists' as const) }
})
