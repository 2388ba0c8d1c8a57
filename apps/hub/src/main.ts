import { statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isatty } from 'node:tty'
import { parseArgs } from 'node:util'
import { runAuditCommand } from './audit/verify-command.ts'
import { runRebalance } from './cluster/rebalance-command.ts'
import { type Config, loadConfig, settingWarnings, unknownSettings, unshownBannerTags } from './config.ts'
import { ConfigError } from './config-error.ts'
import { EmbeddedDatabaseError } from './database/server/embedded-home.ts'
import { MigrationError } from './database/server/migrate.ts'
import { createHub, type Hub } from './hub.ts'
import { createLog } from './runtime/log.ts'
import { output } from './runtime/output.ts'
import { startDemo } from './startup/demo.ts'
import { runDoctor } from './startup/doctor.ts'
import { startupBanner } from './startup/startup-banner.ts'
import { UsageError } from './usage-error.ts'

const USAGE = `Usage: muster-hub [--demo]
       muster-hub audit verify [--anchor HASH] [--json]
       muster-hub rebalance [--status | --cancel]
       muster-hub doctor

Starts the hub; --demo brings a simulated fleet along. rebalance asks the nodes with most devices to release their surplus. doctor finds databases whose data folder is gone. Settings are environment variables (docs/operating.md).
`

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const [command, ...words] = process.argv.slice(2)
/** Data folder; undefined until the settings are read. */
let dataDir: string | undefined
try {
  if (command === 'audit')
    process.exitCode = await runAuditCommand(words, settings(), text => writeFileSync(1, text))
  else if (command === 'rebalance') await runRebalance(words, settings(), text => output(1).writeNow(text))
  else if (command === 'doctor') process.exitCode = await runDoctor(words, text => output(1).writeNow(text))
  else await runHub()
} catch (error) {
  // Exit code 2 means that the check itself failed. Exit code 1 already means a changed audit log (`audit`) or an orphaned database
  // (`doctor`).
  process.exitCode = command === 'audit' || command === 'doctor' ? 2 : 1
  output(2).writeNow(`${lineOf(error)}\n`)
}

async function runHub(): Promise<void> {
  const flag = { type: 'boolean', default: false } as const
  const { values: options } = parseArgs({ options: { demo: flag, help: { ...flag, short: 'h' } } })
  if (options.help) return output(1).writeNow(USAGE)
  const config = settings()
  const log = createLog(config.logLevel)
  for (const name of unknownSettings()) log.warn({ name }, 'not a setting of this hub')
  for (const warning of settingWarnings(config)) log.warn(warning)
  for (const tag of unshownBannerTags(config))
    log.warn({ tag }, 'the console does not show this element of the banner')

  // Signal handlers are installed after the start, so a signal during the start ends the process immediately. The next start repairs
  // what an interrupted start left.
  await using hub = await createHub(config, log)
  const stopped = new Promise<string>(done => {
    for (const signal of STOP_SIGNALS) process.once(signal, done)
  })
  await using _demo = options.demo ? await startDemo(hub, config.dataDir, log) : undefined
  output(1).writeNow(startupBanner(hub, config, isatty(1)))
  void hub.tryServers()
  log.info({ signal: await stopped }, 'stopping')
  await drained(hub)
}

/** Waits until the devices were handed over to other nodes. Another stop signal ends the wait. */
async function drained(hub: Hub): Promise<void> {
  const hurry = new AbortController()
  const stopWaiting = (): void => hurry.abort()
  for (const signal of STOP_SIGNALS) process.once(signal, stopWaiting)
  await hub.drain(hurry.signal)
  // Without handlers, the next signal ends the process immediately.
  for (const signal of STOP_SIGNALS) process.off(signal, stopWaiting)
}

function settings(): Config {
  const config = loadConfig()
  dataDir = config.dataDir
  return config
}

/** Formats a failure of the start. Known failures take one line; unexpected errors come with their stack. */
function lineOf(error: unknown): string {
  if (
    error instanceof ConfigError ||
    error instanceof EmbeddedDatabaseError ||
    error instanceof MigrationError ||
    error instanceof UsageError
  )
    return error.message
  if (!(error instanceof Error)) return String(error)
  const { code, syscall, path } = error as NodeJS.ErrnoException
  const foreign =
    code === 'EACCES' && path !== undefined && dataDir !== undefined ? foreignPath(path, dataDir) : undefined
  if (foreign !== undefined) return foreign
  // Errors of system calls, such as a write to a full disk, already name the call and the path, so they need no stack.
  const isClear = syscall !== undefined || code?.startsWith('ERR_PARSE_ARGS')
  return isClear ? error.message : (error.stack ?? error.message)
}

/**
 * Returns a line that explains a denied access to a path of another account and names the remedy. The hub's files belong to
 * another account after a start with sudo, for example. Returns undefined if this account owns the path.
 */
function foreignPath(path: string, folder: string): string | undefined {
  const own = process.getuid?.()
  const owner = ownerOf(path)
  if (owner === own) return undefined
  const folders = path.startsWith(`${folder}/`) ? folder : `${folder} ${dirname(path)}`
  return `${path} belongs to another account (user id ${owner}, the hub runs as ${own}): start the hub under the account that started it last (with sudo, if that was used), or give its files to this one: sudo chown -R ${own} ${folders}`
}

/** User id of the owner of a path. If the path cannot be read, the owner of the nearest readable parent folder. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid
  } catch {
    return path === dirname(path) ? undefined : ownerOf(dirname(path))
  }
}
