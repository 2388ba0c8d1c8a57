import { newId } from '@muster/actions'
import { sql } from 'kysely'
import { createFirstProject } from '../features/projects/first-project.ts'
import { recordFirstPassword } from '../platform/credentials/first-password.ts'
import { writeFirstSignIn, writeFirstToken } from '../platform/credentials/first-sign-in.ts'
import { hashOnce } from '../platform/credentials/passwords.ts'
import { readablePassword } from '../platform/credentials/readable-password.ts'
import type { Db } from '../platform/database/client/connection.ts'
import { SYSTEM } from '../platform/pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../platform/pipeline/command-transaction.ts'

const EMAIL = 'admin@muster.local'

/**
 * First account and deployment token, for the startup banner. `file` is the path of `initial-admin.json`, `tokenFile` that of a file with the
 * token alone.
 */
export type FirstRun = {
  email: string
  password: string
  file: string
  deploymentToken: string
  tokenFile: string
}

/**
 * Creates the first administrator with an organization, a project and a deployment token if there is no account yet (docs/decisions.md,
 * "First run"). `initial-admin.json` is written before the transaction commits, so the password of an existing account is never lost.
 */
export async function bootstrap(
  parts: CommandParts,
  dataDir: string,
  publicUrl: string,
): Promise<FirstRun | undefined> {
  if (await hasAccounts(parts.db)) return undefined
  const password = readablePassword()
  const passwordHash = await hashOnce(password)
  const create = async (transaction: CommandTransaction): Promise<FirstRun | undefined> => {
    const { tx, events } = transaction
    await sql`select pg_advisory_xact_lock(hashtext('muster.bootstrap'))`.execute(tx)
    if (await hasAccounts(tx)) return undefined
    const userId = newId('u')
    await tx
      .insertInto('user')
      .values({
        user_id: userId,
        email: EMAIL,
        canonical_email: EMAIL,
        display_name: 'Administrator',
        password_hash: passwordHash,
        is_admin: true,
      })
      .execute()
    await recordFirstPassword(tx, userId)
    await events.emit('users_Created', { userId, email: EMAIL })
    const { deploymentToken } = await createFirstProject(transaction, {
      userId,
      organization: 'My organization',
      project: 'First project',
    })
    const file = await writeFirstSignIn(dataDir, { url: publicUrl, email: EMAIL, password, deploymentToken })
    const tokenFile = await writeFirstToken(dataDir, deploymentToken)
    return { email: EMAIL, password, file, deploymentToken, tokenFile }
  }
  return commandTransaction(create, { caller: SYSTEM, scope: {} }, parts)
}

async function hasAccounts(db: Db): Promise<boolean> {
  return (await db.selectFrom('user').select('user_id').limit(1).executeTakeFirst()) !== undefined
}
