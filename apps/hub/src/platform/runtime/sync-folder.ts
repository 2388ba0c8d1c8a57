import { open } from 'node:fs/promises'

/** Writes the names in a folder to its disk, so that a file that was renamed into it keeps its name after a power failure. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
