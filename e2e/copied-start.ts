import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import type { Folder } from './hub-child.ts'

/**
 * Copies the data folder that the global set-up made (`first-start.ts`) into a folder, and resolves to the path of the copy. A hub with
 * the copy starts faster than a hub that has to initialize its data folder.
 */
export async function copyFirstStart({ path }: Folder): Promise<string> {
  const dataDir = join(path, 'data')
  // `cp -a` keeps the owner of the files. When the tests run as root, PostgreSQL runs under another account, which must own its files.
  await promisify(execFile)('cp', ['-a', inject('firstStart'), dataDir])
  return dataDir
}
