import type { ActionOutput } from '@muster/actions/client'

/** Ticks that fit a card in three columns. */
const CARD_BINS = 54

/** What a card and the sums above the grid ask of a project; the same, so that it is asked once. */
export const summaryInput = (projectId: string) => ({ projectId, maxBins: CARD_BINS })

/** The sentence that stands for a project's strip. */
export function summarySentence({
  deviceCount,
  connectedCount,
  pendingCount,
}: Pick<ActionOutput<'projects_GetSummary'>, 'deviceCount' | 'connectedCount' | 'pendingCount'>): string {
  if (deviceCount === 0) return 'No devices'
  const pending = pendingCount > 0 ? `, ${pendingCount} with pending certificates` : ''
  return `${connectedCount} of ${deviceCount} devices connected${pending}`
}
