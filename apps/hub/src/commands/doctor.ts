import type { Command } from 'commander'
import { type Config, checkSettings } from '../platform/config/config.ts'
import { type Finding, failure, ok, type Probe, warning } from '../platform/operator/finding.ts'
import { errorLine } from '../startup/error-line.ts'
import { checkedSettings } from './check-config.ts'
import { type CommandLine, EXIT } from './command-line.ts'
import { databaseProbe } from './doctor/database.ts'
import { leftDatabasesProbe } from './doctor/left-databases.ts'
import { addressProbes } from './doctor/public-address.ts'
import { serverProbes } from './doctor/servers.ts'
import { storageProbes } from './doctor/storage.ts'

/** Deadline of each check, in milliseconds: more than the deadlines of connections that the checks open (15 s). */
const PROBE_MS = 20_000

/** Values that tests replace: the folder of databases outside of their data folders, and the deadline of a check. */
type DoctorOptions = { place?: string; probeMs?: number }

/**
 * Adds `muster-hub doctor`, which checks the instance and what it depends on, whether or not its hub runs, and says what to change. It
 * changes nothing.
 */
export function addDoctorCommand(
  program: Command,
  line: CommandLine,
  { place, probeMs = PROBE_MS }: DoctorOptions = {},
): void {
  program
    .command('doctor')
    .description('check the instance and what it depends on; changes nothing. Exit code 1: there are errors')
    .action(async (_options: object, command: Command) => {
      const settings = await settingsFindings(line.environment)
      const { config } = checkSettings(line.environment)
      // Probes with the defaults of wrong settings would mislead.
      const probes = settings.every(({ state }) => state !== 'error') ? probesOf(config, place) : []
      const results = await Promise.all(
        probes.map(async probe => named(probe.name, await findingsOf(probe, probeMs, config.dataDir))),
      )
      const findings = [...named('settings', settings), ...results.flat()]
      line.print(command, { findings }, findings.map(textOf).join('\n'))
      line.exitWith(findings.some(({ state }) => state === 'error') ? EXIT.wrong : EXIT.ok)
    })
}

function probesOf(config: Config, place: string | undefined): Probe[] {
  return [
    ...addressProbes(config.publicUrl),
    databaseProbe(config),
    ...storageProbes(config),
    ...serverProbes(config),
    leftDatabasesProbe(place),
  ]
}

async function settingsFindings(environment: CommandLine['environment']): Promise<Finding[]> {
  const { problems, warnings } = await checkedSettings(environment)
  const advice = 'Correct the setting (docs/operating.md, "Settings").'
  const findings = [
    ...problems.map(problem => failure(problem, advice)),
    ...warnings.map(text => warning(text, advice)),
  ]
  return findings.length > 0 ? findings : [ok('The hub can start with these settings.')]
}

/** Runs a check. A check that rejects, or does not end in time, is an error. */
async function findingsOf({ run, advice }: Probe, probeMs: number, dataDir: string): Promise<Finding[]> {
  const signal = AbortSignal.timeout(probeMs)
  const { promise: late, reject } = Promise.withResolvers<never>()
  const onLate = (): void => reject(new Error(`no answer within ${probeMs / 1000} s`))
  signal.addEventListener('abort', onLate, { once: true })
  try {
    return [await Promise.race([run(signal), late])].flat()
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const text = code === undefined ? message : errorLine(error, dataDir)
    return [failure(`${text.split('\n')[0]!.replace(/\.$/, '')}.`, advice)]
  } finally {
    signal.removeEventListener('abort', onLate)
  }
}

type NamedFinding = { check: string; advice?: string } & Pick<Finding, 'state' | 'finding'>

function named(check: string, findings: Finding[]): NamedFinding[] {
  return findings.map(finding => ({ check, ...finding }))
}

function textOf({ check, state, finding, advice }: NamedFinding): string {
  const head = `${state.padEnd(7)}  ${check}: ${finding}`
  return advice === undefined ? head : `${head}\n         ${advice}`
}
