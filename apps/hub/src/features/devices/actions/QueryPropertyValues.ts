import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { matchesFilter } from '../device-filter.ts'
import { suggestValues } from '../property-suggestions.ts'

const DEFAULT_LIMIT = 20

/** Suggests values of a property among the devices that match a filter, from at most 2,000 devices. */
export const projects_QueryPropertyValues = handler(
  'projects_QueryPropertyValues',
  async ({ db, signal }, { projectId, property, filter, text, limit = DEFAULT_LIMIT }) => {
    const found = await tryBrief(db, signal, async tx =>
      suggestValues(tx, projectId, property, await matchesFilter(tx, filter, projectId), { text, limit }),
    )
    if (!found)
      return {
        values: [],
        distinctCount: 0,
        otherCount: 0,
        absentCount: 0,
        devicesRead: 0,
        tookTooLong: true as const,
      }
    const [lowest, lowerQuartile, median, upperQuartile, highest] = found.numbers
    return {
      values: found.values.map(({ value, devices }) => ({
        value: JSON.parse(value) as string | number | boolean | null,
        deviceCount: devices,
      })),
      distinctCount: found.distinct,
      otherCount: found.other,
      absentCount: found.absent,
      numbers:
        lowest == null
          ? undefined
          : {
              deviceCount: found.numberCount,
              lowest,
              lowerQuartile: lowerQuartile!,
              median: median!,
              upperQuartile: upperQuartile!,
              highest: highest!,
            },
      devicesRead: found.read,
    }
  },
)
