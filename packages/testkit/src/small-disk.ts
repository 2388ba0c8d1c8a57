import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A small file system of its own, which every account may enter; nothing where none can be mounted. */
export async function smallDisk(
  mebibytes: number,
): Promise<(AsyncDisposable & { path: string }) | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'muster-small-'))
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]
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
