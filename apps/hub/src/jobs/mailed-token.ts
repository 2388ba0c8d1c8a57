import { sql } from 'kysely'
import type { Db } from '../database/connection.ts'
import type { MailPurpose } from '../jwts.ts'
import { type Mail, type Mailer, MailRefused } from '../mail/mailer.ts'
import { PermanentFailure, type RunningJob } from './queue.ts'

/** The person behind a mailed link that still works; nothing once it was used, is over or gone. */
export async function openMailedToken(db: Db, purpose: MailPurpose, jwtId: string) {
  return db
    .selectFrom('mailed_token as t')
    .innerJoin('user as u', 'u.user_id', 't.user_id')
    .where('t.jwt_id', '=', jwtId)
    .where('t.purpose', '=', purpose)
    .where('t.used_at', 'is', null)
    .where('t.expires_at', '>', sql<Date>`now()`)
    .select([
      'u.user_id as userId',
      'u.email',
      'u.display_name as displayName',
      't.expires_at as expiresAt',
      sql<boolean>`u.password_hash is not null`.as('hasPassword'),
    ])
    .executeTakeFirst()
}

/** Sends the mail of a job; one that is refused for good ends the job. */
export async function sendMail(mailer: Mailer, mail: Mail, { signal }: RunningJob): Promise<void> {
  try {
    await mailer.send(mail, signal)
  } catch (error) {
    if (error instanceof MailRefused) throw new PermanentFailure(error.message, { cause: error })
    throw error
  }
}
