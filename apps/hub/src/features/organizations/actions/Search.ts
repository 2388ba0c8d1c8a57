import { type RawBuilder, sql } from 'kysely'
import { matchesText, partPattern } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTimeOf } from '../../../platform/runtime/times.ts'
import { matchOf, searchDevices } from '../../devices/index.ts'
import { BY_PROJECT_NAME } from '../../projects/index.ts'
import { repositoryNamesOf } from '../../repositories/index.ts'

/** Number of results of each kind (project, repository, device) in an answer to a call without `limit`. */
const DEFAULT_LIMIT = 8

/**
 * Finds projects, repositories and devices of an organization by a part of their name, host name or id. Devices are also found by the
 * start of an IP or MAC address.
 */
export const organizations_Search = handler(
  'organizations_Search',
  async ({ db, signal }, { organizationId, text: given, limit = DEFAULT_LIMIT }) => {
    const text = given.trim() || given
    const part = partPattern(text)
    /** SQL sort order. Names that begin with the text come first, because they are the likelier match. Ties are sorted by name. */
    const bestFirst = (name: RawBuilder<string>, order: RawBuilder<unknown>, id: RawBuilder<string>) =>
      sql`(lower(${name}) like lower(${part.slice(1)})) desc, ${order}, ${id}`
    const projects = await db
      .selectFrom('project as p')
      .where('p.organization_id', '=', organizationId)
      .where(matchesText(text, sql`p.name`, sql`p.project_id`))
      .select(['p.project_id as projectId', 'p.name'])
      .orderBy(bestFirst(sql`p.name`, BY_PROJECT_NAME.by, sql`p.project_id`))
      .limit(limit)
      .execute()
    const repositories = await db
      .selectFrom('repository as r')
      .where('r.organization_id', '=', organizationId)
      .where(matchesText(text, sql`r.display_name`, sql`r.slug`, sql`r.repository_id`))
      .select(['r.repository_id', 'r.display_name', 'r.slug'])
      .orderBy(bestFirst(sql`r.display_name`, sql`lower(r.display_name)`, sql`r.repository_id`))
      .limit(limit)
      .execute()
    const { devices, hasMore, isCut } = await searchDevices(db, signal, organizationId, text, limit)
    return {
      projects,
      repositories: repositories.map(row => ({ repositoryId: row.repository_id, ...repositoryNamesOf(row) })),
      devices: devices.map(row => ({
        deviceId: row.device_id,
        name: row.name ?? undefined,
        hostname: row.hostname || undefined,
        projectId: row.project_id,
        projectName: row.project_name,
        isConnected: row.is_connected,
        status: row.status,
        pendingCertificatesCount: row.pending_certificates,
        lastSeenAt: row.last_seen_at === null ? undefined : wireTimeOf(row.last_seen_at),
        match: matchOf(row, text),
      })),
      hasMoreDevices: hasMore,
      isCut,
    }
  },
)
