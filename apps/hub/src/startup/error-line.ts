import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ActionError } from '@muster/actions'
import { CommandError } from '../commands/command-line.ts'
import { BackupError } from '../platform/backup/backup-error.ts'
import { ConfigError } from '../platform/config/config-error.ts'
import { EmbeddedDatabaseError } from '../platform/database/server/embedded-home.ts'
import { MigrationError } from '../platform/database/server/migrate.ts'

/** Errors whose message is one line with what was found and what to do. */
const CLEAR = [ActionError, BackupError, CommandError, ConfigError, EmbeddedDatabaseError, MigrationError]

/**
 * Formats a failure of a start or of a command. Known failures take one line; unexpected errors come with their stack. `dataDir` is
 * undefined until the settings are read.
 */
export function errorLine(error: unknown, dataDir: string | undefined): string {
  if (!(error instanceof Error)) return String(error)
  if (CLEAR.some(kind => error instanceof kind)) return error.message
  const { code, syscall, path } = error as NodeJS.ErrnoException
  const foreign =
    code === 'EACCES' && path !== undefined && dataDir !== undefined ? foreignPath(path, dataDir) : undefined
  if (foreign !== undefined) return foreign
  // Errors of system calls, such as a write to a full disk, already name the call and the path, so they need no stack.
  return syscall === undefined ? (error.stack ?? error.message) : error.message
}

/**
 * Returns a line that explains a denied access to a path of another account and names the remedy. The hub's files belong to
 * another account after a start with sudo, for example. Returns undefined if this account owns the path.
 */
function foreignPath(path: string, folder: string): string | undefined {
  const own = process.getuid?.()
  const owner = ownerOf(path)
  if (owner === own) return undefined
  const folders = path.startsWith(`${folder}/`) ? folder : `${folder} ${dirname(path)}`
  return `${path} belongs to another account (user id ${owner}, the hub runs as ${own}): start the hub under the account that started it last (with sudo, if that was used), or give its files to this one: sudo chown -R ${own} ${folders}`
}

/** User id of the owner of a path. If the path cannot be read, the owner of the nearest readable parent folder. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid
  } catch {
    return path === dirname(path) ? undefined : ownerOf(dirname(path))
  }
}
