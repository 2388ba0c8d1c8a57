import { randomInt } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BASE58, newId, publicIdOf } from '@muster/actions'
import { sql } from 'kysely'
import { recordEvent } from '../audit/events.ts'
import { SYSTEM } from '../caller.ts'
import { hashPassword } from '../credentials/passwords.ts'
import { hashSecret } from '../credentials/secrets.ts'
import type { Db, Tx } from '../database/client/connection.ts'
import { createOrganization } from '../database/queries/organizations/organizations.ts'
import type { CommandContext } from '../handler.ts'

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
    const { deploymentToken } = await createFirstProject(tx, {
      userId,
      organization: 'My organization',
      project: 'First project',
    })
    const file = firstSignInFile(dataDir)
    await writeFile(
      `${file}.new`,
      `${JSON.stringify({ url: publicUrl, email: EMAIL, password, deploymentToken })}\n`,
      {
        mode: 0o600,
        flush: true,
      },
    )
    await rename(`${file}.new`, file)
    return { email: EMAIL, password, file, deploymentToken }
  })
}

/** Removes the file with the first sign-in, if it is of this address: what it says is true no more. */
export async function forgetFirstSignIn(dataDir: string, email: string): Promise<void> {
  const file = firstSignInFile(dataDir)
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code !== 'ENOENT') throw error
  })
  if (text !== undefined && JSON.parse(text).email === email) await rm(file, { force: true })
}

/** An organization of a person with one project and one deployment token that accepts devices by itself. */
export async function createFirstProject(
  tx: Tx,
  { userId, organization, project }: { userId: string; organization: string; project: string },
): Promise<{ deploymentToken: string }> {
  const eventsIn = (scope: { organizationId?: string }): CommandContext['events'] => ({
    emit: (event, data) => recordEvent(tx, { caller: SYSTEM, scope }, event, data),
  })
  const organizationId = await createOrganization({ tx, events: eventsIn({}) }, organization, [userId])
  const events = eventsIn({ organizationId })
  const projectId = newId('p')
  const deploymentToken = newId('deployment')
  const tokenId = publicIdOf(deploymentToken)
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
  await events.emit('projects_Created', { projectId })
  await events.emit('projects_DeploymentTokenCreated', { projectId, tokenId, flags: { autoAccept: true } })
  return { deploymentToken }
}

function firstSignInFile(dataDir: string): string {
  return join(dataDir, 'initial-admin.json')
}

async function hasAccounts(db: Db): Promise<boolean> {
  return (await db.selectFrom('user').select('user_id').limit(1).executeTakeFirst()) !== undefined
}

/** 94 bits in four groups, without characters that look alike. */
function readablePassword(): string {
  const group = (): string => Array.from({ length: 4 }, () => BASE58[randomInt(BASE58.length)]).join('')
  return [group(), group(), group(), group()].join('-')
}
