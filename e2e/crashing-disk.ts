import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@muster/testkit/until'
import { type Folder, newFolder } from './hub-child.ts'

/** Size of the disk, in bytes. Only used blocks take space. */
const DISK_BYTES = 2 * 1024 ** 3
/**
 * Ends an ext4 file system without writing its journal: the ioctl `EXT4_IOC_SHUTDOWN` with the flag `EXT4_GOING_FLAGS_NOLOGFLUSH`. Unsynced
 * data are lost, and all later reads and writes fail. Node has no ioctl.
 */
const SHUT_DOWN =
  'open(my $disk, "<", $ARGV[0]) or die; my $flags = pack("L", 2); ioctl($disk, 0x8004587d, $flags) or die'

/** A disk that loses unsynced data, as at a power loss. */
export type CrashingDisk = AsyncDisposable & {
  path: string
  /** Loses unsynced data. From then on reads and writes fail. */
  losePower(): void
  /** Mounts the disk again, which plays its journal back. No process may have a file of it open. */
  restart(): Promise<void>
}

/** Makes an ext4 file system in a file and mounts it. Returns undefined where that is not possible. */
export async function crashingDisk(): Promise<CrashingDisk | undefined> {
  await using stack = new AsyncDisposableStack()
  const folder: Folder = stack.use(await newFolder())
  const [image, path] = [join(folder.path, 'image'), join(folder.path, 'disk')]
  await writeFile(image, '')
  await truncate(image, DISK_BYTES)
  await mkdir(path)
  // Long journal interval: unsynced data rarely reaches the disk.
  const mount = (): boolean => run('mount', '-t', 'ext4', '-o', 'loop,commit=300', image, path)
  const isMounted = existsSync('/usr/bin/perl') && run('mkfs.ext4', '-q', '-F', image) && mount()
  if (!isMounted) return undefined
  stack.defer(() => void run('umount', '-l', path))
  await chmod(path, 0o755)
  const kept = stack.move()
  return {
    path,
    losePower() {
      if (!run('perl', '-e', SHUT_DOWN, path)) throw new Error('the file system could not be ended')
    },
    async restart() {
      await until('the disk is unmounted', () => run('umount', path))
      if (!mount()) throw new Error('the disk could not be mounted again')
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

function run(program: string, ...words: string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0
}
