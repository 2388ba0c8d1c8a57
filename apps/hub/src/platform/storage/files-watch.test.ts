import { mkdir, mkdtempDisposable, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capturedLog, smallDisk, until } from '@muster/testkit'
import { expect, it } from 'vitest'
import { watchFiles } from './files-watch.ts'

const MIB = 1024 * 1024
const LOW = 'disk space for files is low: uploads that do not fit are refused'

/** Watches folders with a short interval. `reasons` has the reasons for the state `degraded`. */
function watched(folders: string[], databaseFolder?: string) {
  const { log, named } = capturedLog('info')
  const reasons = new Map<string, string>()
  const watch = watchFiles({
    folders,
    databaseFolder,
    lowBytes: 4 * MIB,
    readiness: {
      degrade: (part, reason) => void reasons.set(part, reason),
      restore: part => void reasons.delete(part),
    },
    log,
    checkIntervalMs: 20,
  })
  return { named, reasons, [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() }
}

async function fillTo(folder: string, freeBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  await writeFile(join(folder, `filler-${freeBytes}`), Buffer.alloc(bavail * bsize - freeBytes))
}

it('reports little space on the disk of the files until there is a tenth more than needed', async context => {
  await using disk = await smallDisk(8)
  if (!disk) return context.skip('needs the right to mount a file system')
  await using folder = await mkdtempDisposable(join(tmpdir(), 'muster-files-'))
  await using watch = watched([folder.path, disk.path])
  await fillTo(disk.path, 3 * MIB)
  await until('it is reported', async () => watch.reasons.size > 0)
  expect(watch.reasons.get('files')).toMatch(
    /^disk space for files is low: [23] MiB are free, expected at least 4 MiB; uploads that do not fit are refused$/,
  )
  expect(watch.named(LOW)).toHaveLength(1)
  await rm(join(disk.path, `filler-${3 * MIB}`))
  await until('it is no longer reported', async () => watch.reasons.size === 0)
  expect(watch.named('the disk of the files has enough space again')).toHaveLength(1)
})

it('leaves the disk of the embedded database to its own check', async context => {
  await using disk = await smallDisk(8)
  if (!disk) return context.skip('needs the right to mount a file system')
  await fillTo(disk.path, MIB)
  await using alone = watched([disk.path])
  await using watch = watched([disk.path, join(disk.path, 'absent')], disk.path)
  await until('the disk is reported without a database on it', async () => alone.reasons.size > 0)
  expect(watch.reasons.size).toBe(0)
})

it('reports a disk that cannot be read, and not a folder that no upload has created yet', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'muster-files-'))
  const parent = join(folder.path, 'parent')
  await writeFile(parent, '')
  await using watch = watched([join(parent, 'blobs')])
  await until('it is reported', async () => watch.reasons.size > 0)
  expect(watch.reasons.get('files')).toBe('the disk of the files cannot be read')
  await rm(parent)
  await mkdir(parent)
  await until('it is no longer reported', async () => watch.reasons.size === 0)
  expect(watch.named('the disk of the files cannot be read: uploads and downloads may fail')).toHaveLength(1)
})
