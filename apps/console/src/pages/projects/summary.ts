import type { ActionOutput } from '@muster/actions/client'

/** Counts of a project, its connected devices of the last 24 h and its most frequent update failure. */
export type Summary = ActionOutput<'projects_GetSummary'>

/**
 * Input of the summary query. Cards and totals use the same input, so that the query is sent once per project. Cards draw the last 24 h
 * and no marks for devices (bins), so the smallest number of bins is requested.
 */
export const summaryInput = (projectId: string) => ({ projectId, maxBins: 1, series: true })
