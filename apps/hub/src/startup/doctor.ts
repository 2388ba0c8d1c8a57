import { parseArgs } from 'node:util'
import { type ElsewhereState, elsewhereFolders } from '../database/server/embedded-home.ts'

const WORDS: Record<ElsewhereState, string> = {
  used: 'in use by the data folder',
  orphaned: 'ORPHANED: nothing leads to it any more from the data folder',
  unknown: 'cannot be judged by this account (run it as root); its data folder was',
}

/**
 * Runs `muster-hub doctor`. It lists the embedded databases that the hub has put below /var/lib, because the database server could not
 * enter the data folder. A database is orphaned if its data folder is gone, unknown, or refers to another database. Changes nothing.
 * Resolves to the exit code: 1 if a database is orphaned, else 0. Throws for unknown arguments.
 */
export async function runDoctor(
  words: string[],
  print: (text: string) => void,
  place?: string,
): Promise<0 | 1> {
  parseArgs({ args: words })
  const folders = await elsewhereFolders(place)
  for (const { folder, dataDir, lastStart, state } of folders) {
    const when = lastStart ? `, last started ${lastStart.toISOString().slice(0, 10)}` : ''
    print(`${folder}: ${WORDS[state]} ${dataDir ?? '(not noted)'}${when}\n`)
  }
  const orphans = folders.filter(({ state }) => state === 'orphaned')
  if (orphans.length === 0) {
    print('No orphaned database was found.\n')
    return 0
  }
  print(
    `\nA data folder that was moved leads to its database again after its next start. If yours are gone for good:\n` +
      orphans.map(({ folder }) => `  sudo rm -r ${folder}\n`).join(''),
  )
  return 1
}
