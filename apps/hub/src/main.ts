import { parseArgs } from 'node:util'
import { ConfigError, loadConfig, unknownSettings } from './config.ts'
import { EmbeddedDatabaseError } from './database/embedded.ts'
import { MigrationError } from './database/migrate.ts'
import { startDemo } from './demo.ts'
import { greeting } from './greeting.ts'
import { createHub } from './hub.ts'
import { createLog } from './log.ts'

try {
  const { values: options } = parseArgs({ options: { demo: { type: 'boolean', default: false } } })
  const config = loadConfig()
  const log = createLog(config.logLevel)
  for (const name of unknownSettings()) log.warn({ name }, 'not a setting of this hub')

  const stopped = new Promise<string>(done => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, done)
  })
  await using hub = await createHub(config, log)
  await using _demo = options.demo ? await startDemo(hub, config.dataDir, log) : undefined
  process.stdout.write(greeting(hub, { dataDir: config.dataDir, isTerminal: process.stdout.isTTY === true }))
  log.info({ signal: await stopped }, 'stopping')
} catch (error) {
  process.exitCode = 1
  process.stderr.write(`${lineOf(error)}\n`)
}

/** What went wrong at the start in one line; the stack only where the fault is ours. */
function lineOf(error: unknown): string {
  if (
    error instanceof ConfigError ||
    error instanceof EmbeddedDatabaseError ||
    error instanceof MigrationError
  )
    return error.message
  const { code, message, stack } = error as Error & { code?: unknown }
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return message
  if (typeof code === 'string' && /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|28|3D|57)/.test(code)) {
    return `MUSTER_DATABASE_URL: found a database that does not let the hub in (${message}), expected a reachable PostgreSQL.`
  }
  return stack ?? String(error)
}
