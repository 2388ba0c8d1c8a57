import { type Command, InvalidArgumentError } from 'commander'
import { SealKeys } from '../platform/audit/chain.ts'
import { type AuditReport, verifyAuditLog } from '../platform/audit/verify.ts'
import type { Config } from '../platform/config/config.ts'
import { instanceKeyOf, loadInstanceKey } from '../platform/credentials/instance-key.ts'
import { type CommandLine, EXIT } from './command-line.ts'
import { openInstance } from './instance-database.ts'

/** Adds `muster-hub audit verify`, which verifies the audit log of the configured instance, whether or not its hub runs. */
export function addAuditCommand(program: Command, line: CommandLine): void {
  program
    .command('audit')
    .description('the audit log')
    .command('verify')
    .description(
      'compute all seals of the audit log again; changes nothing. Exit code 1: it is not intact, 2: it could not be verified',
    )
    .option('--anchor <hash>', 'hash of a seal that must be in the log', sealHash)
    .action(async ({ anchor }: { anchor?: string }, command: Command) => {
      // Exit code 1 for an error would say that the log was changed.
      line.exitWith(EXIT.usage)
      const report = await verifyInstance(line.settings(), anchor)
      line.print(command, report, asText(report, anchor))
      line.exitWith(report.isIntact ? EXIT.ok : EXIT.wrong)
    })
}

function sealHash(text: string): string {
  const hash = text.toLowerCase()
  if (/^[0-9a-f]{64}$/.test(hash)) return hash
  throw new InvalidArgumentError('Expected 64 hexadecimal digits.')
}

async function verifyInstance(config: Config, anchor: string | undefined): Promise<AuditReport> {
  const { dataDir, instanceKey, previousInstanceKey: previous } = config
  const keys = new SealKeys(
    await loadInstanceKey(dataDir, instanceKey, { mayMake: false }),
    previous === undefined ? undefined : instanceKeyOf(previous),
  )
  await using instance = await openInstance(config)
  const client = await instance.pool.connect()
  try {
    return await verifyAuditLog(client, keys, anchor)
  } finally {
    client.release()
  }
}

function asText(report: AuditReport, anchor: string | undefined): string {
  const { isIntact, problem, seals, removedSeals, actions, events, unsealed, head, publicKey } = report
  const lines = [
    isIntact ? 'The audit log is intact.' : `THE AUDIT LOG IS NOT INTACT. ${problem}`,
    `${isIntact ? 'Verified' : 'Verified before that'}: ${counted(seals, 'seal')} over ${counted(actions, 'action')} and ${counted(events, 'event')}.`,
    removedSeals > 0 && `Retention removed the rows of ${removedSeals} of these seals, which is signed.`,
    unsealed.rows > 0 && `Not sealed yet: ${counted(unsealed.rows, 'row')} since ${unsealed.oldestAt}.`,
    isIntact && anchor !== undefined && 'The anchor is one of the seals.',
    head && `Newest verified seal: ${head.seal} of ${head.sealedAt}, hash ${head.hash}`,
    `Public key (Ed25519): ${publicKey}`,
  ]
  return lines.filter(Boolean).join('\n')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
