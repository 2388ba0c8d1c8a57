import { writeFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { isatty } from 'node:tty'
import { connectServiceManager } from '@muster/link/service-manager'
import { CommandError } from './commands/command-line.ts'
import { createHub, type Hub } from './hub.ts'
import {
  loadConfig,
  retiredSettings,
  settingWarnings,
  unknownSettings,
  unshownBannerTags,
} from './platform/config/config.ts'
import { releaseIdleMemory } from './platform/runtime/idle-memory.ts'
import { createLog } from './platform/runtime/log.ts'
import { output } from './platform/runtime/output.ts'
import { startDemo } from './startup/demo.ts'
import { errorLine } from './startup/error-line.ts'
import { startupBanner } from './startup/startup-banner.ts'

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const words = process.argv.slice(2)
// biome-ignore lint/style/noProcessEnv: passed on to commands, and to the service manager, whose variables are no settings
const environment = process.env
/** Data folder; undefined until the settings are read. */
let dataDir: string | undefined
if (words.every(word => word === '--demo')) {
  try {
    await runHub(words.length > 0)
  } catch (error) {
    process.exitCode = 1
    output(2).writeNow(`${errorLine(error, dataDir)}\n`)
  }
} else {
  // A hub loads none of the commands.
  const { runCommand } = await import('./commands/run-command.ts')
  const exitCode = await runCommand(words, {
    out: text => writeFileSync(1, text),
    err: text => output(2).writeNow(text),
    input: () => process.stdin,
    environment,
    stopSignal,
    lowerPriority: () => setPriority(Math.max(getPriority(), constants.priority.PRIORITY_LOW)),
  })
  // A check that was given up after its deadline may still hold a connection.
  process.exit(exitCode)
}

async function runHub(withDemo: boolean): Promise<void> {
  const config = loadConfig()
  dataDir = config.dataDir
  const log = createLog(config.logLevel)
  for (const warning of retiredSettings()) log.warn(warning)
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
  await using _demo = withDemo ? await startDemo(hub, config.dataDir, log) : undefined
  output(1).writeNow(startupBanner(hub, config, isatty(1)))
  const serviceManager = connectServiceManager(environment, reason =>
    log.error({ reason }, 'systemd-notify failed, so systemd does not know that the hub has started'),
  )
  serviceManager.ready()
  void hub.tryServers()
  using _idle = releaseIdleMemory()
  log.info({ signal: await Promise.race([stopped, hub.outdated]) }, 'stopping')
  serviceManager.stopping()
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

/** Aborted by the first signal to stop. The second one ends the process. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  for (const signal of STOP_SIGNALS)
    process.once(signal, () => stopping.abort(new CommandError(`stopped by ${signal}`)))
  return stopping.signal
}
