import { findAction, type ParsedInput } from '@muster/actions'
import { type Command, Option } from 'commander'
import { createAccount, isAccountOf, setIsActive, setPassword } from '../features/accounts/accounts.ts'
import { EndedRights } from '../platform/bus/ended-rights.ts'
import type { Config } from '../platform/config/config.ts'
import { refuseGuessable } from '../platform/credentials/guessable-password.ts'
import { hashOnce, Passwords } from '../platform/credentials/passwords.ts'
import { readablePassword } from '../platform/credentials/readable-password.ts'
import { openQueue } from '../platform/jobs/queue.ts'
import { SYSTEM } from '../platform/pipeline/caller.ts'
import { type CommandTransaction, commandTransaction } from '../platform/pipeline/command-transaction.ts'
import { errorLine } from '../startup/error-line.ts'
import { askSecret } from './ask-secret.ts'
import { CommandError, type CommandLine } from './command-line.ts'
import { NO_CONSOLES, openInstance, quietLog } from './instance-database.ts'

/** Time that the job queue gets to close, in milliseconds. The command only adds jobs and runs none. */
const CLOSE_QUEUE_MS = 5_000

type PasswordOptions = { ask?: boolean; passwordFile?: string }
type AccountContext = CommandTransaction & { services: { rights: EndedRights; dataDir: string } }

/**
 * Adds `muster-hub admin …`, for an instance where no administrator can sign in. The commands write to the database, whether or not the hub
 * runs. They do what the actions on accounts do, as the hub itself, and leave the same audit events.
 */
export function addAdminCommand(program: Command, line: CommandLine): void {
  const admin = program.command('admin').description('accounts of administrators, when nobody can sign in')
  withPassword(admin.command('create').argument('<email>'))
    .description('create an administrator of the instance')
    .option('--name <name>', 'name of the person')
    .action(async (given: string, options: PasswordOptions & { name?: string }, command: Command) => {
      const { email, displayName = null } = personIn(given, options.name)
      const config = line.settings()
      const { password, passwordHash, isGenerated } = await newPassword(line, email, options)
      const userId = await inTransaction(line, config, context =>
        createAccount(context, { email, displayName, passwordHash, isAdmin: true }),
      )
      if (userId === undefined)
        throw new CommandError(
          `${email}: found an account with this address, expected none. muster-hub admin reset-password ${email} sets its password.`,
        )
      line.print(
        command,
        { userId, email, ...(isGenerated && { password }) },
        `${email} is an administrator of the instance.${passwordText(password, isGenerated)}`,
      )
    })

  withPassword(admin.command('reset-password').argument('<email>'))
    .description('set the password of an account, and end its sessions and user tokens')
    .action(async (email: string, options: PasswordOptions, command: Command) => {
      const config = line.settings()
      const { password, passwordHash, isGenerated } = await newPassword(line, email, options)
      const { isAdmin, isActive, ...account } = await inTransaction(line, config, async context => {
        const account = await accountOf(context, email)
        const { userId } = account
        await setPassword(context, { userId, passwordHash, by: 'administrator', endTokens: true })
        await context.events.emit('users_SetPassword', { userId })
        return account
      })
      const notes = [
        ...(isAdmin ? [] : ['It is not an administrator of the instance.']),
        ...(isActive ? [] : ['It is disabled and cannot sign in.']),
      ]
      line.print(
        command,
        { ...account, isAdmin, isActive, ...(isGenerated && { password }) },
        [
          `The password of ${account.email} was set, and its sessions and user tokens have ended.`,
          ...notes,
        ].join(' ') + passwordText(password, isGenerated),
      )
    })

  admin
    .command('disable')
    .argument('<email>')
    .description('disable an account, and end its sessions and user tokens')
    .action(async (email: string, _options: object, command: Command) => {
      const config = line.settings()
      const { userId, isChanged } = await inTransaction(line, config, async context => {
        const { userId } = await accountOf(context, email)
        return { userId, isChanged: await setIsActive(context, userId, false) }
      })
      line.print(
        command,
        { userId, email, isChanged },
        isChanged
          ? `${email} is disabled, and its sessions and user tokens have ended.`
          : `${email} was disabled already.`,
      )
    })
}

function withPassword(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--ask',
        'read the password from a prompt or standard input instead of making one',
      ).conflicts('passwordFile'),
    )
    .option('--password-file <file>', 'read the password from the first line of a file')
}

/** Checks address and name as `users_Create` does. */
function personIn(email: string, displayName: string | undefined): ParsedInput<'users_Create'> {
  const parsed = findAction('users_Create')!.action.input.safeParse({ email, displayName })
  const issue = parsed.error?.issues[0]
  if (issue) throw new CommandError(`${issue.path.join('.')}: ${issue.message}.`)
  return parsed.data as ParsedInput<'users_Create'>
}

type NewPassword = { password: string; passwordHash: string; isGenerated: boolean }

/** Reads or makes a password, by the rules for all accounts. Throws `ActionError` for a guessable one. */
async function newPassword(
  line: CommandLine,
  email: string,
  { ask, passwordFile: file }: PasswordOptions,
): Promise<NewPassword> {
  if (!ask && file === undefined) {
    const password = readablePassword()
    return { password, passwordHash: await hashOnce(password), isGenerated: true }
  }
  const password = await askSecret(line, 'New password', { file, option: '--password-file' })
  const parsed = findAction('users_SetPassword')!.action.input.safeParse({ password })
  const issue = parsed.error?.issues.find(({ path }) => path[0] === 'password')
  if (issue) throw new CommandError(`password: ${issue.message}.`)
  refuseGuessable(password, email)
  using passwords = new Passwords()
  return { password, passwordHash: await passwords.hash(password), isGenerated: false }
}

function passwordText(password: string, isGenerated: boolean): string {
  return isGenerated ? `\nPassword, shown only here: ${password}` : ''
}

async function accountOf({ tx }: AccountContext, email: string) {
  const account = await tx
    .selectFrom('user')
    .where(isAccountOf(email))
    .select(['user_id as userId', 'email', 'is_admin as isAdmin', 'is_active as isActive'])
    .executeTakeFirst()
  if (account) return account
  throw new CommandError(`${email}: found no account with this address, expected one.`)
}

/**
 * Runs a change of an account in one transaction of the instance's database. There is no bus to the nodes of the hub: they read sessions at
 * each request, and check open connections every 5 s.
 */
async function inTransaction<Result>(
  line: CommandLine,
  config: Config,
  change: (context: AccountContext) => Promise<Result>,
): Promise<Result> {
  await using instance = await openInstance(config)
  const { db, pool } = instance
  const log = quietLog(config)
  await using jobs = await openQueue({ pool, log, drainTimeoutMs: CLOSE_QUEUE_MS })
  const rights = new EndedRights({ publish: () => {}, subscribe: () => () => {} })
  const work = (transaction: CommandTransaction): Promise<Result> =>
    change({
      ...transaction,
      services: { rights, dataDir: config.dataDir },
      // The change is stored, so its result, perhaps a new password, must be printed whatever happens then.
      afterCommit: effect =>
        transaction.afterCommit(async () => {
          try {
            await effect(db)
          } catch (error) {
            line.err(`Warning: ${errorLine(error, config.dataDir)}\n`)
          }
        }),
    })
  return await commandTransaction(work, { caller: SYSTEM, scope: {} }, { db, jobs, log, live: NO_CONSOLES })
}
