import { useNow } from '../../../lib/app/clock.ts'
import { counted, formatBytes, formatCount } from '../../../lib/app/format.ts'
import { dayInYear } from '../../../lib/app/local-time.ts'
import { Section } from '../../../ui/app/Section.tsx'
import type { Health } from './health.ts'
import styles from './panels.module.css'
import { Unread } from './Unread.tsx'

/** Versions of the hub and of PostgreSQL, the database's connections, the state of the audit log's seals (signed hashes), and the last backup. */
export function VersionPanel({
  nodes,
  database,
  seals,
  backup,
}: Pick<Health, 'nodes' | 'database' | 'seals' | 'backup'>) {
  const nowMs = useNow()
  const versions = Map.groupBy(
    (nodes.value ?? []).flatMap(({ facts }) => (facts ? [facts.version] : [])),
    version => version,
  )
  return (
    <Section title="Version" padded={false}>
      <ul className={styles.lines}>
        {[...versions].map(([version, on]) => (
          <li key={version}>
            <b>Muster {version}</b>
            <span className={`muted ${styles.detail}`}>On {counted(on.length, 'node')}</span>
          </li>
        ))}
        {versions.size === 0 && (
          <li>
            <Unread failure={nodes.failure ?? 'No node has reported yet.'} />
          </li>
        )}
        <li>
          {database.value ? (
            <>
              <b>PostgreSQL {database.value.version}</b>
              <span className={`muted ${styles.detail}`}>
                {formatCount(database.value.connections)} of {formatCount(database.value.maxConnections)}{' '}
                connections
              </span>
            </>
          ) : (
            <Unread failure={database.failure} />
          )}
        </li>
        <li>
          {seals.value ? (
            <>
              <b>Audit log</b>
              <span className={`muted ${styles.detail}`}>{sealText(seals.value)}</span>
            </>
          ) : (
            <Unread failure={seals.failure} />
          )}
        </li>
        <li>
          {backup.value ? (
            <>
              <b>Last backup</b>
              <span className={`muted ${styles.detail}`}>{backupText(backup.value, nowMs)}</span>
            </>
          ) : (
            <Unread failure={backup.failure} />
          )}
        </li>
      </ul>
    </Section>
  )
}

function sealText({ sealNo, isIntact }: NonNullable<Health['seals']['value']>): string {
  if (sealNo === undefined) return 'Not sealed yet'
  const newest = `Seal ${formatCount(sealNo)} is the newest`
  if (isIntact === undefined) return `${newest}; not verified yet`
  return `${newest}; ${isIntact ? 'intact at the last verification' : 'not intact at the last verification'}`
}

type LastBackup = NonNullable<Health['backup']['value']>['last']

function backupText({ last }: NonNullable<Health['backup']['value']>, nowMs: number): string {
  if (!last) return 'None by muster-hub backup'
  const checked = last.isVerified ? 'restored on trial' : 'not restored on trial'
  return `${dayInYear(Date.parse(last.takenAt), nowMs)}, ${formatBytes(last.sizeBytes)}, ${checked}${fileText(last.file)}`
}

function fileText(file: NonNullable<LastBackup>['file']): string {
  if (file?.state === 'Unseen') return `; its file cannot be checked: ${file.reason}`
  if (file?.state === 'Missing') return '; its file is gone'
  return file?.state === 'Changed' ? '; its file was changed' : ''
}
