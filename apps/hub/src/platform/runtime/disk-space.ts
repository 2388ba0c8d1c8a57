import { stat, statfs } from 'node:fs/promises'
import { waitUpTo } from '@muster/concurrency'

/** Maximum time to wait for a disk, in milliseconds. */
const WAIT_MS = 1_000

/** Space on the disk of a folder, in bytes. */
export type DiskSpace = { freeBytes: number; totalBytes: number }

type Outcome = { space: DiskSpace } | { error: unknown }

/** Reads that have not ended, by folder. A read of a network share that hangs holds a thread, so each folder has at most one. */
const reading = new Map<string, Promise<Outcome>>()

/** Reads the space on the disk of a folder. Throws if the folder is absent, and if its disk does not answer within 1 s. */
export async function diskSpace(folder: string): Promise<DiskSpace> {
  const read = reading.get(folder) ?? startReading(folder)
  let outcome: Outcome | undefined
  await waitUpTo(
    WAIT_MS,
    read.then(found => {
      outcome = found
    }),
  )
  // TypeScript does not see the assignment in the callback.
  const ended = outcome as Outcome | undefined
  if (!ended) throw new Error(`${folder} did not answer within ${WAIT_MS / 1000} s`)
  if ('error' in ended) throw ended.error
  return ended.space
}

/** Whether two folders are on one disk. False if one of them is absent. */
export async function areOnOneDisk(folder: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([folder, other].map(path => stat(path).catch(() => undefined)))
  return first !== undefined && first.dev === second?.dev
}

/** A number of bytes in whole mebibytes, rounded down: "12 MiB". */
export function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2)} MiB`
}

function startReading(folder: string): Promise<Outcome> {
  const read = statfs(folder)
    .then(
      ({ bavail, blocks, bsize }): Outcome => ({
        space: { freeBytes: bavail * bsize, totalBytes: blocks * bsize },
      }),
      (error: unknown): Outcome => ({ error }),
    )
    .finally(() => reading.delete(folder))
  reading.set(folder, read)
  return read
}
