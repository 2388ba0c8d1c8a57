import { parseArgs } from 'node:util'
import { ConfigError, loadConfig, unknownSettings } from './config.ts'
import { EmbeddedDatabaseError } from './database/embedded-home.ts'
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
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return code?.startsWith('ERR_PARSE_ARGS') ? error.message : (error.stack ?? error.message)
}
