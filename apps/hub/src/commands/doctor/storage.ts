import { randomBytes, randomUUID } from 'node:crypto'
import { readFile, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nearestFolder } from '../../platform/backup/free-space.ts'
import type { Config } from '../../platform/config/config.ts'
import { databaseFolder } from '../../platform/database/server/embedded-home.ts'
import { type Finding, failure, ok, type Probe, warning } from '../../platform/operator/finding.ts'
import { GuardedHttpClient } from '../../platform/storage/guarded-http-client.ts'
import { blobFolder, incomingFolder } from '../../platform/storage/local-folder.ts'
import { testObjectStore } from '../../platform/storage/object-store-test.ts'
import { S3Bucket } from '../../platform/storage/s3.ts'

/** Share of free space of a disk below which doctor warns, as the alert `MusterDiskFilling` does. */
const LOW_SHARE = 0.1
const ENLARGE = 'Enlarge the disk, or delete what fills it (docs/operating.md, "Disk space").'

/** Checks of the account, of disks and of the storage of repository files. */
export function storageProbes(config: Config): Probe[] {
  return [
    {
      name: 'account',
      run: () => checkAccount(config.dataDir),
      advice: 'Let the account of the hub read MUSTER_DATA_DIR.',
    },
    {
      name: 'disk',
      run: () => checkDisks(config),
      advice: 'Mount the disk, and let the account of the hub read it.',
    },
    {
      name: 'storage',
      run: () => (config.s3 === undefined ? checkFolder(config.dataDir) : checkStore(config.s3)),
      advice: 'Let the account of the hub write to MUSTER_DATA_DIR.',
    },
  ]
}

/** Warns if another account than the hub's runs the command, because its write access may differ. */
async function checkAccount(dataDir: string): Promise<Finding> {
  const own = process.getuid?.()
  const found = await stat(dataDir).catch(() => undefined)
  if (found === undefined || own === undefined || found.uid === own)
    return ok('This account has the data folder, or will make it.')
  return warning(
    `This command runs as user id ${own}, and ${dataDir} belongs to user id ${found.uid}.`,
    'Run it again under the account of the hub, whose rights may differ.',
  )
}

async function checkDisks({ dataDir, databaseUrl, diskLowBytes }: Config): Promise<Finding[]> {
  const folders = [dataDir, blobFolder(dataDir)]
  if (databaseUrl === undefined) folders.push(await databaseFolder(dataDir))
  /** One folder for each disk. */
  const disks = new Map<number, string>()
  for (const folder of folders) {
    const present = await nearestFolder(folder)
    const { dev } = await stat(present)
    if (!disks.has(dev)) disks.set(dev, present)
  }
  return Promise.all([...disks.values()].map(folder => checkDisk(folder, diskLowBytes)))
}

async function checkDisk(folder: string, lowBytes: number): Promise<Finding> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(folder)
  const freeBytes = bavail * bsize
  const share = Math.round((bavail / Math.max(1, blocks)) * 100)
  const found = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB (${share} %) are free on the disk of ${folder}.`
  if (freeBytes < lowBytes) return failure(found, ENLARGE)
  if (files > 0 && ffree / files < LOW_SHARE)
    return warning(`${ffree} of ${files} inodes are free on the disk of ${folder}.`, ENLARGE)
  return bavail / blocks < LOW_SHARE ? warning(found, ENLARGE) : ok(found)
}

/** Writes, reads and deletes a file. It creates no folder, because that would belong to the account of this command. */
async function checkFolder(dataDir: string): Promise<Finding> {
  const folder = await nearestFolder(incomingFolder(dataDir))
  // Remains of a killed command are removed like those of aborted uploads.
  const path = join(folder, `muster-doctor-${randomUUID()}`)
  const bytes = randomBytes(4096)
  try {
    await writeFile(path, bytes, { mode: 0o600, flag: 'wx', flush: true })
    if (!(await readFile(path)).equals(bytes))
      return failure(`${folder} returned other bytes than were written.`, 'Check the disk.')
  } catch (error) {
    if (!/^(ENOSPC|EDQUOT)$/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
    return failure(`No file can be written in ${folder}: the disk has no space or no inodes left.`, ENLARGE)
  } finally {
    await rm(path, { force: true })
  }
  return ok(`Files can be written, read and deleted in ${folder}.`)
}

async function checkStore(settings: NonNullable<Config['s3']>): Promise<Finding> {
  const tested = await testObjectStore(new S3Bucket(settings, new GuardedHttpClient('everything')), settings)
  const place = `${settings.endpoint}, bucket ${settings.bucket}`
  if (tested.result === 'Passed') return ok(`Objects can be written, read and deleted at ${place}.`)
  const { step, detail } = tested.steps.at(-1)!
  return failure(
    `${place}: the step "${step}" failed. ${detail}`,
    tested.advice ?? 'Check the MUSTER_S3 settings.',
  )
}
