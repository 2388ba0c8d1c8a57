import type { Readable } from 'node:stream'
import type { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { configFromOptions } from '../config.ts'
import type { Log } from '../log.ts'
import { simulateFleet } from '../simulator/fleet.ts'
import type { FleetStats } from '../simulator/fleet-stats.ts'
import { trustSystemAuthorities } from '../trust.ts'
import { argument, tokenOf } from './identity-options.ts'

type SimulateOptions = {
  hub: string
  token?: string
  tokenFile?: string
  count: number
  seed: string
  rate: number
  history: number
  outages: boolean
  duration?: number
  whileStdinOpen?: boolean
  dangerousAllowPlaintext?: boolean
  dangerousAcceptInvalidCertificates?: boolean
}

const PROGRESS_INTERVAL_MS = 1000

/** Adds the command `simulate`, which simulates a fleet in one process. */
export function addSimulateCommand(program: Command, context: CommandContext): void {
  program
    .command('simulate')
    .description('Simulates a fleet of devices: same seed, same devices. Runs until stopped.')
    .requiredOption('--hub <url>', 'address of the hub')
    .option('--token <token>', 'deployment token, preferably with automatic acceptance of certificates')
    .option('--token-file <file>', 'file of mode 0600 with the token, instead of a question at the terminal')
    .requiredOption('--count <n>', 'number of devices', argument('an integer from 1 to 100000', countOf))
    .option('--seed <seed>', 'seed of the fleet', '1')
    .option('--rate <n>', 'events per device and minute', argument('a number above 0, up to 6000', rateOf), 1)
    .option(
      '--history <hours>',
      'also send events of this many hours before the start',
      argument('0 to 720 hours', hoursOf),
      0,
    )
    .option('--no-outages', 'devices never lose their connection')
    .option('--duration <seconds>', 'stop after this time', argument('0.001 to 2147483 seconds', secondsOf))
    .option(
      '--while-stdin-open',
      'stop when standard input ends, so that a child process never outlives its parent',
    )
    .option('--dangerous-allow-plaintext', 'allow http:// to other machines')
    .option('--dangerous-accept-invalid-certificates', 'accept any certificate of the hub')
    .action(async (options: SimulateOptions, command: Command) => {
      if ('config' in command.optsWithGlobals())
        command.error('error: --config and --hub exclude each other', { exitCode: 2 })
      const { hub, tokenFile } = options
      const token = await tokenOf(command, context, { hub, token: options.token, tokenFile })
      const stats = await simulate({ ...options, token }, context, context.log(command))
      context.print(summaryOf(stats))
      if (stats.everConnected === 0 && !context.signal.aborted) throw new Error('no device could connect')
    })
}

async function simulate(
  options: SimulateOptions & { token: string },
  context: CommandContext,
  log: Log,
): Promise<FleetStats> {
  const { hub, token, count, seed, rate, history, outages, duration } = options
  // Validates the hub's address and the token like the command `run`. Simulated devices store no files, so the data folder is
  // never used.
  const config = configFromOptions({ ...options, data: '.' })
  if (hub.startsWith('https:')) trustSystemAuthorities()
  const signals = [context.signal]
  if (duration !== undefined) signals.push(AbortSignal.timeout(Math.round(duration * 1000)))
  if (options.whileStdinOpen) signals.push(endOf(context.input()))
  await using fleet = simulateFleet({
    hubUrl: hub,
    token,
    count,
    seed,
    eventsPerMinute: rate,
    historyHours: history,
    hasOutages: outages,
    acceptInvalidCertificates: config.acceptInvalidCertificates,
    signal: AbortSignal.any(signals),
  })
  const progress = setInterval(progressReporter(fleet.stats, log), PROGRESS_INTERVAL_MS)
  await fleet.ended
  clearInterval(progress)
  return fleet.stats
}

/** Returns a signal that is aborted when a stream ends. The stream's bytes are discarded. */
function endOf(input: Readable): AbortSignal {
  const ended = new AbortController()
  const end = () => ended.abort(new Error('standard input ended'))
  input.once('end', end).once('close', end).once('error', end).resume()
  return ended.signal
}

/** Returns a function that logs the number of connected devices if it has changed, and new problems. */
function progressReporter(stats: Readonly<FleetStats>, log: Log): () => void {
  let [connected, problems] = [-1, 0]
  return () => {
    if (stats.connected !== connected)
      log.info(`${number(stats.connected)} of ${number(stats.count)} connected`)
    connected = stats.connected
    const { refused, failed, lost, actionErrors } = stats
    if (refused + failed + lost + actionErrors === problems) return
    problems = refused + failed + lost + actionErrors
    const counts = Object.entries({ refused, failed, lost, 'action errors': actionErrors }).filter(
      ([, count]) => count > 0,
    )
    log.warn(
      `${counts.map(([what, count]) => `${number(count)} ${what}`).join(', ')}; last: ${stats.lastProblem}`,
    )
  }
}

/** Human-readable summary of a simulation, several lines. */
function summaryOf(stats: Readonly<FleetStats>): string {
  const { count, everConnected, allConnectedAfterMs, connects, refused, failed, lost, outages } = stats
  const ramp =
    allConnectedAfterMs === undefined
      ? `${number(everConnected)} of ${number(count)} devices were connected`
      : `${number(count)} devices, all connected after ${(allConnectedAfterMs / 1000).toFixed(1)} s (${number(Math.round(count / (allConnectedAfterMs / 1000)))} a second)`
  return [
    ramp,
    `connections: ${number(connects)} made, ${number(refused)} refused, ${number(failed)} failed, ${number(lost)} lost, ${number(outages)} outages played`,
    `sent: ${number(stats.events)} events, ${number(stats.properties)} properties, ${number(stats.actionErrors)} errors`,
    ...(stats.lastProblem === undefined ? [] : [`last problem: ${stats.lastProblem}`]),
  ].join('\n')
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}

function countOf(text: string): number | undefined {
  return /^\d{1,6}$/.test(text) && Number(text) >= 1 && Number(text) <= 100_000 ? Number(text) : undefined
}

function rateOf(text: string): number | undefined {
  return Number(text) > 0 && Number(text) <= 6000 ? Number(text) : undefined
}

function hoursOf(text: string): number | undefined {
  return text.trim() !== '' && Number(text) >= 0 && Number(text) <= 720 ? Number(text) : undefined
}

function secondsOf(text: string): number | undefined {
  // Durations of 2³¹ ms and more are rejected, because they overflow Node's timers.
  return Number(text) >= 0.001 && Number(text) <= 2_147_483 ? Number(text) : undefined
}
