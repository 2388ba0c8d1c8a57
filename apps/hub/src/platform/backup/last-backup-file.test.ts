import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HandlerOutput, NodeFacts } from '@muster/actions'
import { testHub, until } from '@muster/testkit'
import { expect, it } from 'vitest'
import { InstanceValues } from '../../features/instance/instance-values.ts'
import { InProcessBus } from '../bus/in-process-bus.ts'
import { startNodeReports } from '../cluster/node-facts.ts'
import { createLog } from '../runtime/log.ts'
import { BackupWatch, placeOf } from './last-backup-file.ts'
import { done, FIXTURE_KEY } from './testing/fixture-database.ts'

type File = NonNullable<NonNullable<HandlerOutput<'instance_GetHealth'>['backup']['value']>['last']>['file']

it('says whether the file of the last backup is gone or was changed, and raises no alarm for a file that it cannot check', async () => {
  const root = await mkdtemp(join(tmpdir(), 'muster-last-backup-'))
  const folder = join(root, 'backups')
  const path = join(folder, 'last.backup')
  await mkdir(folder)
  await using hub = await testHub({ instanceKey: FIXTURE_KEY })
  const log = createLog('silent')
  await using _reports = await startNodeReports({
    db: hub.db,
    nodeId: hub.nodeId,
    log,
    folders: [root],
    tls: undefined,
    eventCount: () => 0,
    connections: () => 0,
    bus: new InProcessBus({ nodeId: hub.nodeId, log }),
    reportMs: 20,
    backupWatch: { everyMs: 0 },
  })
  const admin = await hub.user({ isAdmin: true })
  /** Waits until the dashboard shows this state, and compares problems and metric with it. */
  const shows = async (state: NonNullable<File>['state'], reason?: string): Promise<void> => {
    const { problems } = await until(`the file is ${state}`, async () => {
      const health = await admin.invoke('instance_GetHealth', {})
      const file = health.backup.value?.last?.file
      return file?.state === state && file.reason === reason && health
    })
    const isLost = state === 'Missing' || state === 'Changed'
    expect(problems.filter(({ kind }) => kind === 'BackupLost')).toMatchObject(
      isLost ? [{ level: 'bad', state, path }] : [],
    )
    // On a busy machine a value may not be read in time.
    const backup = await until(
      'the metric is read',
      async () => (await new InstanceValues(hub.db, () => {}).read()).backup,
    )
    expect(backup.isFileIntact).toBe(state === 'Unseen' ? undefined : !isLost)
  }

  const settings = { MUSTER_DATABASE_URL: hub.pool.options.connectionString!, MUSTER_DATA_DIR: hub.dataDir }
  const { sizeBytes } = await done(['backup', path, '--no-verify'], settings)
  await shows('Present')
  await rename(path, join(root, 'moved'))
  await shows('Missing')
  await writeFile(path, Buffer.alloc((sizeBytes as number) - 1))
  await shows('Changed')
  // Set the time before the rename, so a check never sees the new file with the old time.
  const other = join(root, 'other')
  await writeFile(other, Buffer.alloc(sizeBytes as number))
  await utimes(other, 0, 0)
  await rename(other, path)
  await shows('Changed')
  await rm(path)
  await rename(join(root, 'moved'), path)
  await shows('Present')

  // As when the disk of the backups is not mounted.
  await rename(folder, join(root, 'elsewhere'))
  await mkdir(folder)
  await shows('Unseen', 'the hub does not see the folder in which it was written')
  await rm(folder, { recursive: true })
  await writeFile(folder, '')
  await shows('Unseen', 'the hub cannot enter its folder (ENOTDIR)')
  await hub.pool.query(
    `update instance_setting set value = jsonb_set(value::jsonb, '{place,host}', '"north"') where key = 'last-backup'`,
  )
  await shows('Unseen', 'it was written on the machine north')
  await rm(folder)
  await rename(join(root, 'elsewhere'), folder)
  await shows('Present')
  await rm(root, { recursive: true })
})

it('waits no longer than its limit for a file system that does not answer, and looks at a new backup at once', async () => {
  const root = await mkdtemp(join(tmpdir(), 'muster-last-backup-'))
  const path = join(root, 'last.backup')
  await writeFile(path, 'backup')
  const backup = { takenAt: '2026-11-26T02:30:00.000Z', sizeBytes: 6, place: await placeOf(path) }
  const looks: unknown[] = []
  // Shorter than any process needs to start.
  using hasty = new BackupWatch(facts => looks.push(facts), { lookMs: 1 })
  expect(hasty.facts(backup)).toBeUndefined()
  await until('the look has ended', () => looks.length === 1)
  const reason = 'the file system of its folder does not answer'
  expect(looks).toEqual([{ takenAt: backup.takenAt, state: 'Unseen', reason }])
  expect(hasty.facts(backup)).toBe(looks[0])
  expect(hasty.facts({ ...backup, takenAt: '2026-11-27T02:30:00.000Z' })).toBeUndefined()

  using watch = new BackupWatch(() => {})
  expect(await until('the file is found', () => watch.facts(backup))).toMatchObject({ state: 'Present' })
  await rm(path)
  // The next look comes after 15 minutes.
  expect(watch.facts(backup)).toMatchObject({ state: 'Present' })
  const newer = { ...backup, takenAt: '2026-11-27T02:30:00.000Z' }
  expect(await until('the new file is missed', () => watch.facts(newer))).toMatchObject({ state: 'Missing' })
  const otherDisk = {
    ...newer,
    takenAt: '2026-11-28T02:30:00.000Z',
    place: { ...newer.place, folderBornMs: 1 },
  }
  expect(await until('the folder is another one', () => watch.facts(otherDisk))).toMatchObject({
    state: 'Unseen',
  })
  await rm(root, { recursive: true })
})

it('keeps the other facts of a node that reports a state of a newer release', () => {
  const facts = { version: '9.0.0', connections: 5, eventsPerSec: 0 }
  const backup = { takenAt: '2026-11-26T02:30:00.000Z', state: 'Encrypted' }
  expect(NodeFacts.parse({ ...facts, backup })).toEqual({ ...facts, backup: undefined })
})
