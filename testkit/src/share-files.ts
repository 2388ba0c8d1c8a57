import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Makes the data folder `to` use the folder of repository files in the data folder `from`, by a symbolic link. */
export async function shareFiles(from: string, to: string): Promise<void> {
  const folder = join(from, 'blobs')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await symlink(folder, join(to, 'blobs'))
}
