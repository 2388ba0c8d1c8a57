import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Mounts a small file system that every account may enter. Returns undefined where mounting is not allowed. `inodes`
 * limits the number of files and folders.
 */
export async function smallDisk(
  mebibytes: number,
  inodes?: number,
): Promise<(AsyncDisposable & { path: string }) | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'muster-small-'))
  const options = [
    '-t',
    'tmpfs',
    '-o',
    `size=${mebibytes}m${inodes === undefined ? '' : `,nr_inodes=${inodes}`}`,
    'tmpfs',
    path,
  ]
  if (spawnSync('mount', options, { stdio: 'ignore' }).status !== 0) {
    await rm(path, { recursive: true })
    return undefined
  }
  await chmod(path, 0o755)
  return {
    path,
    async [Symbol.asyncDispose]() {
      spawnSync('umount', ['-l', path], { stdio: 'ignore' })
      await rm(path, { recursive: true, force: true })
    },
  }
}
