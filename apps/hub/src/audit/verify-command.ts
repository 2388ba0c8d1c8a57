import { parseArgs } from 'node:util'
import type { Config } from '../config.ts'
import { instanceKeyOf, loadInstanceKey } from '../credentials/instance-key.ts'
import { openDatabase } from '../database/client/connection.ts'
import { sqlState } from '../database/client/errors.ts'
import { openEmbeddedDatabase } from '../database/server/embedded.ts'
import { checkExternalDatabase, externalConnection } from '../database/server/external.ts'
import { MigrationError } from '../database/server/migrate.ts'
import { createLog } from '../runtime/log.ts'
import { UsageError } from '../usage-error.ts'
import { SealKeys } from './chain.ts'
import { type AuditReport, verifyAuditLog } from './verify.ts'

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_COLUMN = '42703'
const USAGE = 'Usage: muster-hub audit verify [--anchor HASH] [--json]'

/**
 * Runs `muster-hub audit …`; `words` are the arguments after `audit`. Verifies the audit log of the configured instance,
 * whether or not its hub runs, and prints a report. Resolves to the exit code: 0 intact, 1 not intact. Throws `UsageError` for
 * wrong arguments, and any error that prevents the verification.
 */
export async function runAuditCommand(
  words: string[],
  config: Config,
  print: (text: string) => void,
): Promise<0 | 1> {
  const { anchor, isJson } = readOptions(words)
  const { dataDir, instanceKey, previousInstanceKey: previous } = config
  const keys = new SealKeys(
    await loadInstanceKey(dataDir, instanceKey, { mayMake: false }),
    previous === undefined ? undefined : instanceKeyOf(previous),
  )
  const report = await verifyInstance(config, keys, anchor)
  print(isJson ? `${JSON.stringify(report)}\n` : asText(report, anchor))
  return report.isIntact ? 0 : 1
}

function readOptions(words: string[]): { anchor: string | undefined; isJson: boolean } {
  try {
    const { values, positionals } = parseArgs({
      args: words,
      allowPositionals: true,
      options: { anchor: { type: 'string' }, json: { type: 'boolean', default: false } },
    })
    if (positionals.join(' ') !== 'verify') throw new Error(`found "audit ${positionals.join(' ')}"`)
    const anchor = values.anchor?.toLowerCase()
    if (anchor !== undefined && !/^[0-9a-f]{64}$/.test(anchor))
      throw new Error(`--anchor: found ${JSON.stringify(anchor)}, expected 64 hexadecimal digits`)
    return { anchor, isJson: values.json }
  } catch (cause) {
    throw new UsageError(`${(cause as Error).message}. ${USAGE}`, { cause })
  }
}

async function verifyInstance(
  { dataDir, databaseUrl, logLevel }: Config,
  keys: SealKeys,
  anchor: string | undefined,
): Promise<AuditReport> {
  // Hides the start and stop lines of the embedded server, which are noise in this command.
  const log = createLog(logLevel === 'info' ? 'warn' : logLevel)
  await using stack = new AsyncDisposableStack()
  if (databaseUrl !== undefined) await checkExternalDatabase(databaseUrl)
  const connection =
    databaseUrl === undefined
      ? stack.use(await openEmbeddedDatabase(dataDir, log)).connection
      : externalConnection(databaseUrl)
  // The error handler does nothing, because a broken connection also fails the statement that runs on it.
  const { pool } = stack.use(openDatabase(connection, () => {}))
  const client = await pool.connect()
  try {
    return await verifyAuditLog(client, keys, anchor)
  } catch (error) {
    if (sqlState(error) !== UNDEFINED_TABLE && sqlState(error) !== UNDEFINED_COLUMN) throw error
    throw new MigrationError('The database is one of an older hub: start this one once, which migrates it.')
  } finally {
    client.release()
  }
}

function asText(report: AuditReport, anchor: string | undefined): string {
  const { isIntact, problem, seals, removedSeals, actions, events, unsealed, head, publicKey } = report
  const lines = [
    isIntact ? 'The audit log is intact.' : `THE AUDIT LOG IS NOT INTACT. ${problem}`,
    `${isIntact ? 'Verified' : 'Verified before that'}: ${seals} seals over ${actions} actions and ${events} events.`,
    removedSeals > 0 && `Retention removed the rows of ${removedSeals} of these seals, which is signed.`,
    unsealed.rows > 0 && `Not sealed yet: ${unsealed.rows} rows since ${unsealed.oldestAt}.`,
    isIntact && anchor !== undefined && 'The anchor is one of the seals.',
    head && `Newest verified seal: ${head.seal} of ${head.sealedAt}, hash ${head.hash}`,
    `Public key (Ed25519): ${publicKey}`,
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}
