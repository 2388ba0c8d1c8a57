import type pg from 'pg'
import { z } from 'zod'
import type { Db } from '../database/client/connection.ts'
import { BackupPlace } from './last-backup-file.ts'
import { recordCommandEvent } from './record-event.ts'

/** Row of `instance_setting` with the last backup. */
const SETTING = 'last-backup'

const LastBackup = z.object({
  /** Time of the state that the backup has. */
  takenAt: z.string(),
  sizeBytes: z.number(),
  durationSecs: z.number(),
  isVerified: z.boolean(),
  hasBlobs: z.boolean(),
  hasKey: z.boolean(),
  /**
   * Files of the database that are missing in the data folder, and those whose bytes are not the uploaded ones. Undefined for a backup of an
   * older release.
   */
  missingBlobs: z.number().optional(),
  damagedBlobs: z.number().optional(),
  /** Undefined for a backup of an older release. */
  place: BackupPlace.optional(),
})
/** The last backup that `muster-hub backup` made. */
export type LastBackup = z.infer<typeof LastBackup>

/** The last backup of the instance; undefined if there is none, or if a newer release has stored it in another format. */
export async function readLastBackup(db: Db): Promise<LastBackup | undefined> {
  const row = await db
    .selectFrom('instance_setting')
    .where('key', '=', SETTING)
    .select('value')
    .executeTakeFirst()
  return LastBackup.safeParse(row?.value).data
}

/** Stores a backup as the last one, with its audit event. */
export async function storeLastBackup(client: pg.Client, backup: LastBackup): Promise<void> {
  const { sizeBytes, isVerified, hasBlobs, hasKey } = backup
  await client.query('begin')
  await client.query(
    'insert into instance_setting (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value',
    [SETTING, JSON.stringify(backup)],
  )
  await recordCommandEvent(client, 'instance_BackedUp', { sizeBytes, isVerified, hasBlobs, hasKey })
  await client.query('commit')
}
