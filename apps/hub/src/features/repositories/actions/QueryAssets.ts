import { sql } from 'kysely'
import { matchesText, queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'
import type { AssetStatus } from '../repositories.ts'

const SORTS = {
  createdAt: { by: sql`a.created_at`, type: 'timestamptz' },
  size: { by: sql`a.size_bytes`, type: 'bigint' },
} as const

/** Lists the blobs of a repository, by default newest first. */
export const repositories_QueryAssets = handler(
  'repositories_QueryAssets',
  async ({ db }, { repositoryId, filter, ...page }) => {
    let query = db
      .selectFrom('asset as a')
      .where('a.repository_id', '=', repositoryId)
      .where(matchesText(filter?.text, sql`a.asset_id`, sql`a.digest`))
      .select(['a.asset_id', 'a.size_bytes', 'a.digest', 'a.status', 'a.created_at'])
    if (filter?.status) query = query.where('a.status', '=', filter.status)
    const { rows, ...rest } = await queryPage(
      query,
      { ...page, countTotal: filter?.text ? 'along' : true },
      SORTS,
      sql`a.asset_id`,
      '-createdAt',
    )
    return {
      assets: rows.map(row => ({
        assetId: row.asset_id,
        size: row.size_bytes,
        digest: row.digest,
        status: row.status as AssetStatus,
        createdAt: wireTime(row.created_at),
      })),
      ...rest,
    }
  },
)
