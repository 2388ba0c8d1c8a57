import { randomUUID } from 'node:crypto'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from './describe-error.ts'

/**
 * Creates a file that only its owner may read, whole or not at all, also when the power fails. Returns false and changes nothing when
 * it is there already.
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
    // Unlike rename(), link() never replaces: of two processes that start together one wins, and both use its file.
    await link(temporary, path)
    // A name is on the disk for good when its folder is, and so are those of the folders that were made for it.
    for (let synced = folder; ; synced = dirname(synced)) {
      await syncFolder(synced)
      if (firstMade === undefined || synced === dirname(firstMade)) break
    }
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    return false
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Where it can be: not every file system does that, nor every account. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
