import { recordEvent } from '../audit/events.ts'
import { SYSTEM } from '../caller.ts'
import { activationMail } from '../mail/activation.ts'
import { jobHandler } from './handler.ts'
import { openMailedToken, sendMail } from './mailed-token.ts'

export const users_SendRegistrationEmail = jobHandler(
  'users_SendRegistrationEmail',
  async ({ db, jwts, mailer, publicUrl }, { jwtId }, job) => {
    const token = await openMailedToken(db, 'Activation', jwtId)
    if (!token) return
    const { userId, email, expiresAt } = token
    const jwt = await jwts.sign('Activation', { jwtId, userId }, expiresAt)
    await sendMail(mailer, activationMail({ email, jwt, expiresAt, publicUrl }), job)
    await db
      .transaction()
      .execute(tx =>
        recordEvent(
          tx,
          { caller: SYSTEM, scope: { userId }, jobId: job.jobId },
          'users_RegistrationEmailSent',
          { userId, email },
        ),
      )
  },
)
