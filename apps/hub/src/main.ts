import { writeFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { parseArgs } from 'node:util'
import { runAuditCommand, UsageError } from './audit/verify-command.ts'
import { ConfigError, loadConfig, unknownSettings } from './config.ts'
import { EmbeddedDatabaseError } from './database/embedded-home.ts'
import { MigrationError } from './database/migrate.ts'
import { startDemo } from './demo.ts'
import { greeting } from './greeting.ts'
import { createHub } from './hub.ts'
import { createLog, writeSafely } from './log.ts'

const USAGE = `Usage: muster-hub [--demo]
       muster-hub audit verify [--anchor HASH] [--json]

Starts the hub; --demo brings a simulated fleet along. Settings are environment variables (docs/operating.md).
`

const [command, ...words] = process.argv.slice(2)
try {
  if (command === 'audit')
    process.exitCode = await runAuditCommand(words, loadConfig(), text => writeFileSync(1, text))
  else await runHub()
} catch (error) {
  // 1 says of the audit log that it was changed; that it could not be read is something else.
  process.exitCode = command === 'audit' ? 2 : 1
  writeSafely(2, `${lineOf(error)}\n`)
}

async function runHub(): Promise<void> {
  const flag = { type: 'boolean', default: false } as const
  const { values: options } = parseArgs({ options: { demo: flag, help: { ...flag, short: 'h' } } })
  if (options.help) return writeSafely(1, USAGE)
  const config = loadConfig()
  const log = createLog(config.logLevel)
  for (const name of unknownSettings()) log.warn({ name }, 'not a setting of this hub')

  // Until it runs a signal ends it at once: what a start has half done the next one puts in order.
  await using hub = await createHub(config, log)
  const stopped = new Promise<string>(done => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, done)
  })
  await using _demo = options.demo ? await startDemo(hub, config.dataDir, log) : undefined
  writeSafely(1, greeting(hub, config, isatty(1)))
  log.info({ signal: await stopped }, 'stopping')
}

/** What went wrong at the start in one line; the stack only where the fault is ours. */
function lineOf(error: unknown): string {
  if (
    error instanceof ConfigError ||
    error instanceof EmbeddedDatabaseError ||
    error instanceof MigrationError ||
    error instanceof UsageError
  )
    return error.message
  if (!(error instanceof Error)) return String(error)
  const { code, syscall } = error as NodeJS.ErrnoException
  // What the system refuses, such as to write on a full disk, tells what and where by itself.
  const isClear = syscall !== undefined || code?.startsWith('ERR_PARSE_ARGS')
  return isClear ? error.message : (error.stack ?? error.message)
}
