import { randomInt } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BASE58, newId, publicIdOf } from '@muster/actions'
import { sql } from 'kysely'
import { recordEvent } from './audit/events.ts'
import { SYSTEM } from './caller.ts'
import type { Db, Tx } from './database/connection.ts'
import { hashPassword } from './passwords.ts'
import { hashSecret } from './secrets.ts'

const EMAIL = 'admin@muster.local'

/** What the first start made, for the words that it prints. */
export type FirstRun = { email: string; password: string; file: string; deploymentToken: string }

/**
 * Makes the first administrator with an organization, a project and a deployment token when there is no account yet
 * (decisions, "First run"). The sign-in is in `initial-admin.json` before the account exists, so that it cannot get lost.
 */
export async function bootstrap(db: Db, dataDir: string, publicUrl: string): Promise<FirstRun | undefined> {
  if (await hasAccounts(db)) return undefined
  const password = readablePassword()
  const passwordHash = await hashPassword(password)
  return db.transaction().execute(async tx => {
    await sql`select pg_advisory_xact_lock(hashtext('muster.bootstrap'))`.execute(tx)
    if (await hasAccounts(tx)) return undefined
    const userId = newId('u')
    await tx
      .insertInto('user')
      .values({
        user_id: userId,
        email: EMAIL,
        display_name: 'Administrator',
        password_hash: passwordHash,
        is_admin: true,
      })
      .execute()
    await recordEvent(tx, { caller: SYSTEM, scope: {} }, 'users_Created', { userId, email: EMAIL })
    const { deploymentToken } = await createOrganization(tx, {
      userId,
      organization: 'My organization',
      project: 'First project',
    })
    const file = join(dataDir, 'initial-admin.json')
    await writeFile(`${file}.new`, `${JSON.stringify({ url: publicUrl, email: EMAIL, password })}\n`, {
      mode: 0o600,
    })
    await rename(`${file}.new`, file)
    return { email: EMAIL, password, file, deploymentToken }
  })
}

/** An organization of a person with one project and one deployment token that accepts devices by itself. */
export async function createOrganization(
  tx: Tx,
  { userId, organization, project }: { userId: string; organization: string; project: string },
): Promise<{ deploymentToken: string }> {
  const organizationId = newId('org')
  const projectId = newId('p')
  const deploymentToken = newId('deployment')
  const tokenId = publicIdOf(deploymentToken)
  const cause = { caller: SYSTEM, scope: { organizationId } }
  await tx
    .insertInto('organization')
    .values({ organization_id: organizationId, name: organization })
    .execute()
  await tx
    .insertInto('organization_member')
    .values({ organization_id: organizationId, user_id: userId, is_admin: true })
    .execute()
  await tx
    .insertInto('project')
    .values({ project_id: projectId, organization_id: organizationId, name: project })
    .execute()
  await tx
    .insertInto('deployment_token')
    .values({
      token_id: tokenId,
      token_hash: hashSecret(deploymentToken),
      project_id: projectId,
      name: 'First token',
      auto_accept: true,
    })
    .execute()
  await recordEvent(tx, cause, 'organizations_Created', { organizationId })
  await recordEvent(tx, cause, 'organizations_MemberAdded', { organizationId, userId, isAdmin: true })
  await recordEvent(tx, cause, 'projects_Created', { projectId })
  await recordEvent(tx, cause, 'projects_DeploymentTokenCreated', {
    projectId,
    tokenId,
    flags: { autoAccept: true },
  })
  return { deploymentToken }
}

async function hasAccounts(db: Db | Tx): Promise<boolean> {
  return (await db.selectFrom('user').select('user_id').limit(1).executeTakeFirst()) !== undefined
}

/** 94 bits in four groups, without characters that look alike. */
function readablePassword(): string {
  const group = (): string => Array.from({ length: 4 }, () => BASE58[randomInt(BASE58.length)]).join('')
  return [group(), group(), group(), group()].join('-')
}
