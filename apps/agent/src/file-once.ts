import { randomUUID } from 'node:crypto'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from './describe-error.ts'

/**
 * Creates a file that only its owner may read, atomically and safe against power failures. Returns false and changes
 * nothing if the file exists.
 */
export async function createFileOnce(path: string, content: string): Promise<boolean> {
  const folder = dirname(path)
  const firstMade = await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUID()}`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    // Unlike rename(), link() never replaces a file. If two processes start together, the first process creates the file and
    // both processes use it.
    await link(temporary, path)
    // A directory entry survives a power failure only after fsync of its directory. Newly created parent directories have entries
    // too, so their parents are synced as well.
    await syncFolders(folder, firstMade === undefined ? folder : dirname(firstMade))
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    return false
  } finally {
    // The file may exist by now, so a failure here must not be reported as a failure to create it.
    await rm(temporary, { force: true }).catch(() => {})
  }
}

/**
 * Calls fsync on a folder and on its parents up to `last`, by default the root. Failures are ignored, because some file systems and
 * accounts do not permit it.
 */
export async function syncFolders(first: string, last = '/'): Promise<void> {
  for (let path = first; ; path = dirname(path)) {
    const folder = await open(path).catch(() => undefined)
    await folder?.sync().catch(() => {})
    await folder?.close().catch(() => {})
    if (path === last || path === dirname(path)) break
  }
}
