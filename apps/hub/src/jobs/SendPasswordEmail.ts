import { recordEvent } from '../audit/events.ts'
import { SYSTEM } from '../caller.ts'
import { passwordMail } from '../mail/password.ts'
import { jobHandler } from './handler.ts'
import { openMailedToken, sendMail } from './mailed-token.ts'

export const users_SendPasswordEmail = jobHandler(
  'users_SendPasswordEmail',
  async ({ db, jwts, mailer, publicUrl }, { jwtId }, job) => {
    const token = await openMailedToken(db, 'PasswordReset', jwtId)
    if (!token) return
    const { userId, email, expiresAt } = token
    const jwt = await jwts.sign('PasswordReset', { jwtId, userId }, expiresAt)
    await sendMail(mailer, passwordMail({ ...token, jwt, publicUrl }), job)
    await db
      .transaction()
      .execute(tx =>
        recordEvent(
          tx,
          { caller: SYSTEM, scope: { userId }, jobId: job.jobId },
          'users_PasswordResetEmailSent',
          { userId, email },
        ),
      )
  },
)
