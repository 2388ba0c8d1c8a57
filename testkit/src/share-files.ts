import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Links the folder of files in the data folder `to` to the one in the data folder `from`. */
export async function shareFiles(from: string, to: string): Promise<void> {
  const folder = join(from, 'blobs')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await symlink(folder, join(to, 'blobs'))
}
