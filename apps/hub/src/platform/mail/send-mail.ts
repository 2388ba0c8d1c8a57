import type { AuditEvents } from '@muster/actions'
import { sql } from 'kysely'
import type { MailPurpose } from '../credentials/jwts.ts'
import type { Db } from '../database/client/connection.ts'
import type { JobContext } from '../jobs/define-job.ts'
import type { JobKind } from '../jobs/kinds.ts'
import { PermanentFailure, type RunningJob } from '../jobs/queue.ts'
import { SYSTEM } from '../pipeline/caller.ts'
import { type CommandTransaction, commandTransaction } from '../pipeline/command-transaction.ts'
import { type Mail, MailRefused } from './mailer.ts'

/**
 * Policy of the jobs that send mail. The deadline exceeds the sum of the SMTP timeouts, 90 s. The pauses between attempts add up to between
 * 30 and 60 min.
 */
export const MAIL: JobKind = {
  timeoutSecs: 120,
  retryLimit: 5,
  retryDelaySecs: 60,
  isRepeatable: true,
  isCancelledByRestore: true,
}

/** Finds the account of a mailed link; undefined when the link was used, has expired or was deleted. */
async function openMailedToken(db: Db, purpose: MailPurpose, jwtId: string) {
  return db
    .selectFrom('mailed_token as t')
    .innerJoin('user as u', 'u.user_id', 't.user_id')
    .where('t.jwt_id', '=', jwtId)
    .where('t.purpose', '=', purpose)
    .where('t.used_at', 'is', null)
    .where('t.expires_at', '>', sql<Date>`now()`)
    .select([
      'u.user_id as userId',
      // A link that changes the address of the account goes to the new address.
      sql<string>`coalesce(t.new_email, u.email)`.as('email'),
      'u.display_name as displayName',
      't.expires_at as expiresAt',
      sql<boolean>`u.password_hash is not null`.as('hasPassword'),
    ])
    .executeTakeFirst()
}

type OpenToken = NonNullable<Awaited<ReturnType<typeof openMailedToken>>>

type LinkMail = {
  purpose: MailPurpose
  mailOf: (link: OpenToken & { jwt: string; publicUrl: string }) => Mail
  /** Audit event that records the mail. */
  event: 'users_PasswordResetEmailSent' | 'users_RegistrationEmailSent' | 'users_EmailChangeEmailSent'
}

/** Sends the mail that contains a signed link, if the mailed token of the link is still valid. */
export async function sendLink(
  context: JobContext,
  jwtId: string,
  job: RunningJob,
  { purpose, mailOf, event }: LinkMail,
): Promise<void> {
  const { db, jwts, publicUrl } = context
  const token = await openMailedToken(db, purpose, jwtId)
  if (!token) return
  const { userId, email, expiresAt } = token
  const jwt = await jwts.sign(purpose, { jwtId, userId }, expiresAt)
  await sendMail(context, mailOf({ ...token, jwt, publicUrl }), job, event, { userId, email })
}

/** Sends the mail of a job and records an audit event. Throws `PermanentFailure` when the mail server rejects the mail for good. */
export async function sendMail<E extends keyof AuditEvents>(
  context: JobContext,
  mail: Mail,
  { jobId, signal }: RunningJob,
  event: E,
  data: AuditEvents[E],
): Promise<void> {
  try {
    await context.mailer.send(mail, signal)
  } catch (error) {
    if (error instanceof MailRefused) throw new PermanentFailure(error.message, { cause: error })
    throw error
  }
  const record = ({ events }: CommandTransaction): Promise<void> => events.emit(event, data)
  await commandTransaction(record, { caller: SYSTEM, scope: {}, jobId }, context)
}
