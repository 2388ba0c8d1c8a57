import { sql } from 'kysely'
import { matchesText, queryPage } from '../../database/page.ts'
import { refusalOf } from '../../database/refusals.ts'
import { handler } from '../../handler.ts'
import { wireTime } from '../../times.ts'

export const projects_QueryDeploymentTokens = handler(
  'projects_QueryDeploymentTokens',
  async ({ db }, { projectId, filter, ...page }) => {
    const query = db
      .selectFrom('deployment_token as t')
      .where('t.project_id', '=', projectId)
      .where(matchesText(filter?.text, sql`t.name`, sql`t.token_id`))
      .select([
        't.token_id',
        't.created_at',
        't.name',
        't.auto_accept',
        't.last_refusal_at',
        't.last_refusal_reason',
        't.last_refusal_count',
      ])
    const sorts = {
      createdAt: { by: sql`t.created_at`, type: 'timestamptz' },
      name: { by: sql`coalesce(t.name, '')`, type: 'text' },
    } as const
    const { rows, ...rest } = await queryPage(query, page, sorts, sql`t.token_id`, '-createdAt')
    return {
      tokens: rows.map(row => ({
        tokenId: row.token_id,
        createdAt: wireTime(row.created_at),
        name: row.name ?? undefined,
        flags: { autoAccept: row.auto_accept },
        lastRefusal: refusalOf(row),
      })),
      ...rest,
    }
  },
)
