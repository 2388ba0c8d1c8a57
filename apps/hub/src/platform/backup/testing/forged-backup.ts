import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { BackupFile, type BackupHeader, completeBackupFile, writeBackupFile } from '../backup-file.ts'
import { decodeParts, encodeParts, type Part, type PartHeader } from '../parts.ts'

/** Part of a forged backup. The header may be invalid. */
type Forged = { header: object; body: Buffer }

/** Writes a copy of a backup into `folder` whose parts and header differ, with right checksums. Resolves to its path. */
export async function forgedBackup(
  good: string,
  folder: string,
  change: (part: { header: PartHeader; body: Buffer }) => Forged[],
  header: Partial<BackupHeader> = {},
): Promise<string> {
  const path = join(folder, `forged-${randomUUID()}.backup`)
  await using file = await BackupFile.open(good)
  const parts = async function* (): AsyncGenerator<Part> {
    for await (const part of decodeParts(file.content())) {
      const pieces: Buffer[] = []
      for await (const piece of part.body) pieces.push(piece)
      for (const made of change({ header: part.header, body: Buffer.concat(pieces) })) {
        const body = (async function* () {
          yield made.body
        })()
        yield { header: made.header as PartHeader, body, rows: part.rows }
      }
    }
  }
  await completeBackupFile(await writeBackupFile(path, { ...file.header, ...header }, encodeParts(parts())))
  return path
}
