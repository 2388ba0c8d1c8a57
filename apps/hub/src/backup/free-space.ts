import { statfs } from 'node:fs/promises'
import { BackupError } from './backup-error.ts'

const GIB = 1024 ** 3
/** Space that a PostgreSQL server needs besides the tables, in bytes: its write-ahead log and system tables. */
const SERVER_BYTES = 1.2 * GIB
/** Factor for tables that are filled anew; their indexes are as large as before or smaller. */
const TABLES_FACTOR = 1.1

/** Space that the copy of a database needs in a server of its own, in bytes. */
export function copyBytes(databaseBytes: number): number {
  return databaseBytes * TABLES_FACTOR + SERVER_BYTES
}

/** Throws `BackupError` if the disk of a folder has less free space. `remedy` says what to do. */
export async function requireFreeBytes(folder: string, bytes: number, remedy: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < bytes)
    throw new BackupError(
      `Found ${inGib(bavail * bsize)} of free space in ${folder}, expected at least ${inGib(bytes)}: ${remedy}.`,
    )
}

function inGib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`
}
