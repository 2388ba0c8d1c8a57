import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import { matchesEmail } from '../../accounts/index.ts'

/** Lists the members of an organization with their roles. A member without a display name is sorted by email. */
export const organizations_QueryMembers = handler(
  'organizations_QueryMembers',
  async ({ db }, { organizationId, filter, ...page }) => {
    const query = db
      .selectFrom('organization_member as m')
      .innerJoin('user as u', 'u.user_id', 'm.user_id')
      .where('m.organization_id', '=', organizationId)
      .where(
        sql<boolean>`(${matchesEmail(filter?.text, sql`u.email`)} or ${matchesText(filter?.text, sql`u.display_name`, sql`u.user_id`)})`,
      )
      .select(['m.user_id', 'u.display_name', 'u.email', 'u.last_seen_at', 'm.is_admin', 'm.created_at'])
    const sorts = {
      name: { by: sql`coalesce(u.display_name, u.email)`, type: 'text' },
      email: { by: sql`u.email`, type: 'text' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`m.user_id`, 'name')
    return {
      members: rows.map(row => ({
        userId: row.user_id,
        displayName: row.display_name ?? undefined,
        email: row.email,
        isAdmin: row.is_admin,
        memberSince: wireTime(row.created_at),
        lastSeenAt: row.last_seen_at ? wireTime(row.last_seen_at) : undefined,
      })),
      ...rest,
    }
  },
)
