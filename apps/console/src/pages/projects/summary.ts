import type { ActionOutput } from '@muster/actions/client'

/**
 * Number of vertical marks that fit into a project card in a three-column grid. Each mark stands for a device or a group of
 * devices.
 */
const CARD_BINS = 54

/** Input of the summary query. Cards and totals use the same input, so that the query is sent once per project. */
export const summaryInput = (projectId: string) => ({ projectId, maxBins: CARD_BINS })

/** Text alternative of the row of marks for devices in a project card. */
export function summarySentence({
  deviceCount,
  connectedCount,
  pendingCount,
}: Pick<ActionOutput<'projects_GetSummary'>, 'deviceCount' | 'connectedCount' | 'pendingCount'>): string {
  if (deviceCount === 0) return 'No devices'
  const pending = pendingCount > 0 ? `, ${pendingCount} with pending certificates` : ''
  return `${connectedCount} of ${deviceCount} devices connected${pending}`
}
