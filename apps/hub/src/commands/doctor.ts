import type { Command } from 'commander'
import {
  type ElsewhereFolder,
  type ElsewhereState,
  elsewhereFolders,
} from '../database/server/embedded-home.ts'
import { type CommandLine, EXIT } from './command-line.ts'

const WORDS: Record<ElsewhereState, string> = {
  used: 'in use by the data folder',
  orphaned: 'ORPHANED: nothing leads to it any more from the data folder',
  unknown: 'cannot be judged by this account (run it as root); its data folder was',
}

/**
 * Adds `muster-hub doctor`. It lists the embedded databases that the hub has put below /var/lib (`place`), because the database server could
 * not enter the data folder. A database is orphaned if its data folder is gone, unknown, or refers to another database. Changes nothing.
 */
export function addDoctorCommand(program: Command, line: CommandLine, place?: string): void {
  program
    .command('doctor')
    .description('find databases whose data folder is gone; changes nothing. Exit code 1: there are some')
    .action(async (_options: object, command: Command) => {
      line.exitWith(EXIT.usage)
      const databases = await elsewhereFolders(place)
      line.print(command, { databases }, asText(databases))
      line.exitWith(databases.some(({ state }) => state === 'orphaned') ? EXIT.wrong : EXIT.ok)
    })
}

function asText(databases: ElsewhereFolder[]): string {
  const lines = databases.map(({ folder, dataDir, lastStart, state }) => {
    const when = lastStart ? `, last started ${lastStart.toISOString().slice(0, 10)}` : ''
    return `${folder}: ${WORDS[state]} ${dataDir ?? '(not noted)'}${when}`
  })
  const orphans = databases.filter(({ state }) => state === 'orphaned')
  if (orphans.length === 0) return [...lines, 'No orphaned database was found.'].join('\n')
  return [
    ...lines,
    '',
    'A data folder that was moved leads to its database again after its next start. If yours are gone for good:',
    ...orphans.map(({ folder }) => `  sudo rm -r ${folder}`),
  ].join('\n')
}
