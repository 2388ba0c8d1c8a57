import { X509Certificate } from 'node:crypto'
import type { Command } from 'commander'
import {
  checkSettings,
  retiredSettings,
  settingWarnings,
  unknownSettings,
  unshownBannerTags,
} from '../platform/config/config.ts'
import { hasInstanceKey } from '../platform/credentials/instance-key.ts'
import { externalConnection } from '../platform/database/server/external.ts'
import { readTls } from '../platform/http/tls.ts'
import { checkDataDir } from '../platform/runtime/data-folder.ts'
import { errorLine } from '../startup/error-line.ts'
import { type CommandLine, EXIT } from './command-line.ts'

/** Problems of the settings, which prevent a start, and warnings, each one line. */
export type CheckedSettings = { problems: string[]; warnings: string[] }

/**
 * Adds `muster-hub check-config`, which checks the settings and the files that they name as a start does, and lists every problem. It
 * connects to nothing and prints no secret.
 */
export function addCheckConfigCommand(program: Command, line: CommandLine): void {
  program
    .command('check-config')
    .description('check all settings as a start does and list every problem; connects to nothing')
    .action(async (_options: object, command: Command) => {
      const { problems, warnings } = await checkedSettings(line.environment)
      const lines = [...problems, ...warnings.map(warning => `Warning: ${warning}`)]
      if (problems.length === 0) lines.push('The hub can start with these settings.')
      line.print(command, { problems, warnings }, lines.join('\n'))
      line.exitWith(problems.length === 0 ? EXIT.ok : EXIT.wrong)
    })
}

/** Checks the settings and the files that they name. */
export async function checkedSettings(
  environment: Record<string, string | undefined>,
): Promise<CheckedSettings> {
  const { config, problems } = checkSettings(environment)
  const warnings = [
    ...retiredSettings(environment).map(warning => `${warning}.`),
    ...unknownSettings(environment).map(name => `${name} is not a setting of this hub.`),
    ...settingWarnings(config).map(warning => `${warning}.`),
    ...unshownBannerTags(config).map(
      tag => `MUSTER_CONFIG_JSON: found <${tag}> in the banner, which the console does not show.`,
    ),
  ]
  const { tls, databaseUrl, databaseDirectUrl, dataDir, instanceKey } = config
  const checks: (() => void | Promise<void>)[] = [
    () => {
      if (tls === undefined) return
      const endsAt = new X509Certificate(readTls(tls).cert).validToDate
      if (endsAt < new Date())
        warnings.push(`MUSTER_TLS_CERT: found a certificate that ended at ${endsAt.toISOString()}.`)
    },
    () => {
      if (databaseUrl !== undefined) externalConnection(databaseUrl)
      if (databaseDirectUrl !== undefined) externalConnection(databaseDirectUrl, 'MUSTER_DATABASE_DIRECT_URL')
    },
    async () => {
      await checkDataDir(dataDir)
      if (instanceKey === undefined) await hasInstanceKey(dataDir)
    },
  ]
  for (const check of checks)
    try {
      await check()
    } catch (error) {
      problems.push(errorLine(error, dataDir))
    }
  return { problems, warnings }
}
