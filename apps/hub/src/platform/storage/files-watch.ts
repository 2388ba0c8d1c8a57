import { every } from '@muster/concurrency'
import type { Readiness } from '../database/server/readiness.ts'
import { areOnOneDisk, diskSpace, mebibytes } from '../runtime/disk-space.ts'
import type { Logger } from '../runtime/log.ts'

/** Interval of the checks, in milliseconds. */
const CHECK_INTERVAL_MS = 5_000
/** Checks in a row that fail before a disk counts as unreadable. One may fail on a machine with much to do. */
const FAILURES = 2

type FilesWatchOptions = {
  /** Data folder, and the folder of the files of repositories, which may be a disk of its own or a network share. */
  folders: string[]
  /** Folder of the embedded database, whose disk `DiskSpace` watches. */
  databaseFolder: string | undefined
  /** Free space in bytes below which the hub is degraded. */
  lowBytes: number
  readiness: Pick<Readiness, 'degrade' | 'restore'>
  log: Logger
  checkIntervalMs?: number
}

/**
 * Makes the disks of the files a part of the health: the hub is `degraded` while one of them has little space or does not answer. The disk
 * of the embedded database does not count here.
 */
export function watchFiles({
  folders,
  databaseFolder,
  lowBytes,
  readiness,
  log,
  checkIntervalMs = CHECK_INTERVAL_MS,
}: FilesWatchOptions): AsyncDisposable {
  let isDegraded = false
  let failures = 0
  const check = async (): Promise<void> => {
    // Hysteresis: the state ends a tenth above the threshold, so that it does not begin again immediately.
    const expectedBytes = isDegraded ? lowBytes * 1.1 : lowBytes
    const freeBytes = await leastFreeBytes(folders, databaseFolder).catch((error: unknown) => {
      failures++
      if (failures === FAILURES) {
        log.error({ err: error }, 'the disk of the files cannot be read: uploads and downloads may fail')
        readiness.degrade('files', 'the disk of the files cannot be read')
        isDegraded = true
      }
      return undefined
    })
    if (freeBytes === undefined) return
    failures = 0
    if (freeBytes < expectedBytes) {
      const reason = `${mebibytes(freeBytes)} are free, expected at least ${mebibytes(lowBytes)}`
      readiness.degrade(
        'files',
        `disk space for files is low: ${reason}; uploads that do not fit are refused`,
      )
      if (!isDegraded)
        log.error({ reason }, 'disk space for files is low: uploads that do not fit are refused')
      isDegraded = true
    } else if (isDegraded) {
      readiness.restore('files')
      log.info('the disk of the files has enough space again')
      isDegraded = false
    }
  }
  return every(checkIntervalMs, check, error => log.warn({ err: error }, 'the check of the files failed'))
}

/** Free space of the fullest disk in bytes. Infinite if all folders are on the disk of the database. */
async function leastFreeBytes(folders: string[], databaseFolder: string | undefined): Promise<number> {
  const free = await Promise.all(
    folders.map(async folder => {
      const space = await diskSpace(folder).catch((error: NodeJS.ErrnoException) => {
        // The first upload creates the folder of the files.
        if (error.code !== 'ENOENT') throw error
        return undefined
      })
      const isOfDatabase = databaseFolder !== undefined && (await areOnOneDisk(folder, databaseFolder))
      return space === undefined || isOfDatabase ? Number.POSITIVE_INFINITY : space.freeBytes
    }),
  )
  return Math.min(...free)
}
