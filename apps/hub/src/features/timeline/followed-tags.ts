import { parseRepositoryPath, type RepositoryPath } from '@muster/actions'
import type { RawJson } from '@muster/actions/exact-json'
import { type RawBuilder, sql } from 'kysely'
import { OTA_STATUS } from '../../link/telemetry/device-updates.ts'
import type { Db } from '../../platform/database/client/connection.ts'
import type { DeviceCaller } from '../../platform/pipeline/caller.ts'
import { resolvePath } from '../repositories/index.ts'

/**
 * Properties with the repository path from which a device takes its updates. If a device has both, the first one counts (docs/protocol.md
 * 4.3 and 4.4).
 */
const CONFIG = ['dev.nexigon.ota.config', 'org.rugix.ota.config']
/** Maximum number of tags whose moves a timeline shows. The tags that the device followed last are shown. */
const MAX_TAGS = 5
/** Maximum number of changes of the configuration that are read. */
const MAX_CHANGES = 50
/** Maximum length, in characters, of a path. Longer texts are not treated as paths. */
const MAX_PATH = 1_000
/** Maximum size, in bytes of JSON, of a property value in which a path is searched. */
const MAX_CONFIG_BYTES = 16_384

/**
 * A tag from which a device took its updates, and the period in which it did. `from` is undefined if the beginning is unknown, and `until`
 * if the period has not ended.
 */
export type FollowedTag = {
  path: string
  repositoryId: string
  packageId: string
  tag: string
  from: string | undefined
  until: string | undefined
}

/**
 * Finds the tags that a device followed, the latest first. Only repositories that the device may read are considered, so that a path in a
 * property does not disclose other repositories.
 */
export async function followedTags(db: Db, device: DeviceCaller): Promise<FollowedTag[]> {
  const found: FollowedTag[] = []
  for (const { path, from, until } of (await configuredPaths(db, device.deviceId)).slice(0, MAX_TAGS)) {
    const parsed: RepositoryPath | undefined =
      path.length > MAX_PATH || path.includes('\0') ? undefined : parseRepositoryPath(path)
    const ids = parsed && (await resolvePath(db, device, parsed))
    if (!parsed || !ids?.repositoryId || !ids.packageId) continue
    const { repositoryId, packageId } = ids
    const shown = `${parsed.repository}/${parsed.package}/${parsed.tag}`
    found.push({ path: shown, repositoryId, packageId, tag: parsed.tag, from, until })
  }
  return found
}

type PathPeriod = { path: string; from: string | undefined; until: string | undefined }

/**
 * Repository paths that the device's configuration has contained over time, latest first. If it never contained a path, returns the path
 * in the device's last update status.
 */
async function configuredPaths(db: Db, deviceId: string): Promise<PathPeriod[]> {
  const { rows: current } = await readValues(
    db,
    sql`select name, value, null::text as at from device_property where device_id = ${deviceId}
         and name in (${sql.join([...CONFIG, OTA_STATUS])})`,
  )
  const name = CONFIG.find(one => current.some(row => row.name === one)) ?? CONFIG[0]!
  const { rows: changes } = await readValues(
    db,
    sql`select name, value, to_json(changed_at) #>> '{}' as at from device_property_change
         where device_id = ${deviceId} and name = ${name} order by changed_at desc limit ${MAX_CHANGES}`,
  )
  const periods: PathPeriod[] = []
  let until: string | undefined
  for (const { value, at } of changes) {
    const path = pathIn(value)
    if (path !== undefined) periods.push({ path, from: at ?? undefined, until })
    until = at ?? undefined
  }
  const configured = pathIn(current.find(row => row.name === name)?.value ?? null)
  // The history may lack the change that set the current value: older changes are removed after its retention.
  if (periods.length === 0 && configured !== undefined)
    return [{ path: configured, from: undefined, until: undefined }]
  if (periods.length > 0) return periods
  const reported = current.find(row => row.name === OTA_STATUS)?.value
  const path = reported && textAt(reported, 'config', 'path')
  return path ? [{ path, from: undefined, until: undefined }] : []
}

type ValueRow = { name: string; value: RawJson | null; at: string | null }

/** Reads values of properties, without those that are too large for a configuration. */
function readValues(db: Db, rows: RawBuilder<unknown>) {
  return sql<ValueRow>`
    select r.name, case when octet_length(r.value::text) <= ${MAX_CONFIG_BYTES}::integer then r.value end as value, r.at
      from (${rows}) r`.execute(db)
}

function pathIn(config: RawJson | null): string | undefined {
  return config ? textAt(config, 'path') : undefined
}

function textAt(json: RawJson, ...keys: string[]): string | undefined {
  let value: unknown = json.parse()
  for (const key of keys)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
