import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { NodeFacts } from '@muster/actions'
import { VERSION } from '@muster/actions/version'
import { every } from '@muster/concurrency'
import { sql } from 'kysely'
import { readLastBackup } from '../backup/last-backup.ts'
import { BackupWatch, type BackupWatchOptions } from '../backup/last-backup-file.ts'
import type { Bus } from '../bus/bus.ts'
import type { TlsFiles } from '../config/config.ts'
import type { Db } from '../database/client/connection.ts'
import { type DiskSpace, diskSpace } from '../runtime/disk-space.ts'
import type { Logger } from '../runtime/log.ts'

/** Interval of reports, in milliseconds. */
const REPORT_MS = 30_000
/** Maximum number of host names of a certificate that are reported. */
const MAX_NAMES = 5

type NodeReportsOptions = {
  db: Db
  nodeId: string
  log: Logger
  /** Folders with data of the hub. Only the fullest of their disks and that of `blobFolder` is reported. */
  folders: readonly string[]
  /** Folder of files, which is absent before the first upload. */
  blobFolder?: string
  tls: TlsFiles | undefined
  /** Names of the retired settings that are set. */
  retiredSettings?: readonly string[]
  /** Number of events that this node has stored since its start. */
  eventCount: () => number
  /** Number of devices that are connected to this node. */
  connections: () => number
  bus: Pick<Bus, 'kind' | 'status' | 'onStatus'>
  reportMs?: number
  /** Time limits of the looks at the file of the last backup. */
  backupWatch?: BackupWatchOptions
}

/**
 * Writes facts about this node (`NodeFacts`) to its row of `cluster_node`, and adds its number of stored events to `event_rate`: before the
 * promise resolves, then every 30 s. Facts about the bus and the last backup are also written when they change. A failed report is
 * logged, and the next one has its events.
 */
export async function startNodeReports(options: NodeReportsOptions): Promise<AsyncDisposable> {
  const { db, nodeId, log, eventCount, connections, bus, reportMs = REPORT_MS } = options
  const retiredSettings = [...(options.retiredSettings ?? [])]
  const failed = (error: unknown): void => log.warn({ err: error }, 'the report of this node failed')
  const change = (part: Partial<NodeFacts>): void => {
    sql`update cluster_node set facts = facts || ${JSON.stringify(part)}::jsonb where node_id = ${nodeId}`
      .execute(db)
      .catch(failed)
  }
  await using stack = new AsyncDisposableStack()
  const backups = stack.use(new BackupWatch(backup => change({ backup }), options.backupWatch))
  let counted = eventCount()
  let countedAtMs = performance.now()
  const report = async (): Promise<void> => {
    const count = eventCount()
    const nowMs = performance.now()
    const added = count - counted
    const facts: NodeFacts = {
      version: VERSION,
      connections: connections(),
      eventsPerSec: (1000 * added) / Math.max(1, nowMs - countedAtMs),
      ...(await diskFacts(options)),
      ...certificateFacts(options.tls),
      ...(retiredSettings.length > 0 && { retiredSettings }),
      ...(await backupFacts(db, backups)),
      // Read last, after all awaits, so the row has the newest state of the bus.
      ...busFacts(bus),
    }
    await sql`
      with reported as (
        update cluster_node set facts = ${JSON.stringify(facts)}::jsonb where node_id = ${nodeId}
      )
      insert into event_rate as r (starts_at, event_count)
      select date_bin('15 minutes', now(), 'epoch'), ${added}::bigint where ${added}::bigint > 0
      on conflict (starts_at) do update set event_count = r.event_count + excluded.event_count`.execute(db)
    counted = count
    countedAtMs = nowMs
  }
  await report().catch(failed)
  bus.onStatus(() => change(busFacts(bus)))
  stack.use(every(reportMs, report, failed))
  return stack.move()
}

function busFacts({ kind, status }: Pick<Bus, 'kind' | 'status'>): Pick<NodeFacts, 'bus'> {
  if (kind === 'in process') return {}
  if (status.isConnected) return { bus: { kind } }
  return { bus: { kind, awaySince: status.since.toISOString(), failure: status.reason } }
}

async function backupFacts(db: Db, backups: BackupWatch): Promise<Pick<NodeFacts, 'backup'>> {
  const last = await readLastBackup(db)
  const backup = last && backups.facts(last)
  return backup ? { backup } : {}
}

async function diskFacts({
  folders,
  blobFolder,
}: Pick<NodeReportsOptions, 'folders' | 'blobFolder'>): Promise<Pick<NodeFacts, 'disk' | 'diskFailure'>> {
  try {
    const disks = await Promise.all([
      ...folders.map(diskSpace),
      ...(blobFolder === undefined ? [] : [spaceUnlessAbsent(blobFolder)]),
    ])
    const [fullest] = disks
      .filter(disk => disk !== undefined)
      .sort((a, b) => a.freeBytes / a.totalBytes - b.freeBytes / b.totalBytes)
    return { disk: fullest }
  } catch (error) {
    return { diskFailure: `The disk could not be read: ${(error as Error).message}` }
  }
}

async function spaceUnlessAbsent(folder: string): Promise<DiskSpace | undefined> {
  try {
    return await diskSpace(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The names and the expiry of the hub's TLS certificate, or the reason why they are not known. */
export function certificateFacts(
  tls: TlsFiles | undefined,
): Pick<NodeFacts, 'certificates' | 'certificatesFailure'> {
  if (!tls)
    return {
      certificatesFailure:
        'This hub serves no TLS itself. A proxy in front of it would have the certificate.',
    }
  try {
    const { subject, subjectAltName, validTo } = new X509Certificate(readFileSync(tls.certPath))
    const names = [...(subjectAltName ?? '').matchAll(/DNS:([^,\s]+)/g)].map(([, name]) => name!)
    return {
      certificates: [
        {
          names: (names.length > 0 ? names : [subject.replace(/^.*?CN=/s, '')]).slice(0, MAX_NAMES),
          endsAt: new Date(validTo).toISOString(),
        },
      ],
    }
  } catch (error) {
    return { certificatesFailure: `The certificate could not be read: ${(error as Error).message}` }
  }
}
