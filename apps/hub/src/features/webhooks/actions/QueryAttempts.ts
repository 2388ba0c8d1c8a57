import { sql } from 'kysely'
import { queryPage } from '../../../platform/database/client/page.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { wireTime } from '../../../platform/runtime/times.ts'

const SORTS = { attemptedAt: { by: sql`a.attempted_at`, type: 'timestamptz' } } as const

const LIMIT = 100

/** Lists the attempts of a webhook. The log has no total, because it may have many rows. */
export const webhooks_QueryAttempts = handler(
  'webhooks_QueryAttempts',
  async ({ db }, { webhookId, filter, limit = LIMIT, ...page }) => {
    const isSuccess = sql<boolean>`coalesce(a.status between 200 and 299, false)`
    const query = db
      .selectFrom('webhook_attempt as a')
      .where('a.webhook_id', '=', webhookId)
      .$if(filter?.messageId !== undefined, one => one.where('a.message_id', '=', filter!.messageId!))
      .$if(filter?.isSuccess !== undefined, one =>
        one.where(sql<boolean>`${isSuccess} = ${filter!.isSuccess!}`),
      )
      .selectAll()
    const input = { ...page, limit, countTotal: false }
    const { rows, ...rest } = await queryPage(
      query,
      input,
      SORTS,
      sql`a.message_id || '/' || a.attempt`,
      '-attemptedAt',
    )
    return {
      attempts: rows.map(row => ({
        messageId: row.message_id as never,
        type: row.type,
        attempt: row.attempt,
        attemptedAt: wireTime(row.attempted_at),
        isSuccess: row.status !== null && row.status >= 200 && row.status < 300,
        status: row.status ?? undefined,
        error: row.error ?? undefined,
        answer: row.answer ?? undefined,
        tookMs: row.took_ms,
      })),
      ...rest,
    }
  },
)
