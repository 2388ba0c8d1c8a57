import { MAX_PROPERTY_COLUMNS } from '@muster/actions'
import { refusal } from '../../../platform/access/authorize.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { requireDistinct, ruleBroken } from '../../../platform/pipeline/input-rules.ts'

/**
 * Stores the columns and the sort order that the caller has chosen for the device list of a project. Throws `Invalid` (409) for a column
 * that is there twice and for too many columns of properties.
 */
export const users_SetView = handler(
  'users_SetView',
  async ({ db, caller }, { projectId, columns, nameWidthPx, order }) => {
    const person = personOf(caller)
    if (!person) throw refusal()
    const properties = columns?.flatMap(column => ('property' in column ? column.property : [])) ?? []
    const others = columns?.flatMap(column => ('column' in column ? column.column : [])) ?? []
    requireDistinct('columns', 'property', properties)
    requireDistinct('columns', 'column', others)
    if (properties.length > MAX_PROPERTY_COLUMNS) {
      const message = `Found ${properties.length} columns of properties, expected at most ${MAX_PROPERTY_COLUMNS}.`
      throw ruleBroken('columns', message)
    }
    const view = {
      columns: columns === undefined ? null : JSON.stringify(columns),
      name_width_px: nameWidthPx ?? null,
      sort: order ?? null,
    }
    await db
      .insertInto('user_view')
      .values({ user_id: person.userId, project_id: projectId, ...view })
      .onConflict(conflict => conflict.columns(['user_id', 'project_id']).doUpdateSet(view))
      .execute()
    return {}
  },
)
