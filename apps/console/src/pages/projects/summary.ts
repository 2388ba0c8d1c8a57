import type { ActionOutput } from '@muster/actions/client'

/**
 * Number of marks in the device strip of a project card, as many as fit in a three-column grid. The device strip is a row of
 * vertical marks, one for each device or group of devices.
 */
const CARD_BINS = 54

/** Input of the summary query. Cards and totals use the same input, so that the query is sent once per project. */
export const summaryInput = (projectId: string) => ({ projectId, maxBins: CARD_BINS })

/** Text alternative of the device strip (a row of marks for the devices) in a project card. */
export function summarySentence({
  deviceCount,
  connectedCount,
  pendingCount,
}: Pick<ActionOutput<'projects_GetSummary'>, 'deviceCount' | 'connectedCount' | 'pendingCount'>): string {
  if (deviceCount === 0) return 'No devices'
  const pending = pendingCount > 0 ? `, ${pendingCount} with pending certificates` : ''
  return `${connectedCount} of ${deviceCount} devices connected${pending}`
}
