import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { reservedBytes } from '../storage/local-folder.ts'
import { BackupError } from './backup-error.ts'

const GIB = 1024 ** 3
/** Space that a PostgreSQL server needs besides the tables, in bytes: its write-ahead log and system tables. */
const SERVER_BYTES = 1.2 * GIB
/** Factor for tables that are filled anew; their indexes are as large as before or smaller. */
const TABLES_FACTOR = 1.1
/** Bytes between two checks of the free space. */
const CHECK_BYTES = 16 * 1024 * 1024

/** Space that the copy of a database needs in a server of its own, in bytes. */
export function copyBytes(databaseBytes: number): number {
  return databaseBytes * TABLES_FACTOR + SERVER_BYTES
}

/** Throws `BackupError` if the disk of a folder has fewer free bytes than `bytes`. `remedy` ends the message and says what to do. */
export async function requireFreeBytes(folder: string, bytes: number, remedy: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < bytes)
    throw new BackupError(
      `Found ${inGib(bavail * bsize)} of free space in ${folder}, expected at least ${inGib(bytes)}: ${remedy}.`,
    )
}

/** The folder, or its nearest parent that exists. */
export async function nearestFolder(folder: string): Promise<string> {
  for (let path = folder; ; path = dirname(path))
    if (path === dirname(path) || (await stat(path).catch(() => undefined))) return path
}

/**
 * The same pieces, for a file in a folder on the disk of the database. Throws `BackupError` when the disk has less free space than uploads
 * leave there.
 */
export async function* leavingReserve(pieces: AsyncIterable<Buffer>, folder: string): AsyncGenerator<Buffer> {
  let uncheckedBytes = CHECK_BYTES
  for await (const piece of pieces) {
    uncheckedBytes += piece.length
    if (uncheckedBytes >= CHECK_BYTES) {
      uncheckedBytes = 0
      await requireFreeBytes(
        folder,
        reservedBytes(await statfs(folder)),
        'the rest is left to the database; write the backup to another disk',
      )
    }
    yield piece
  }
}

function inGib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`
}
