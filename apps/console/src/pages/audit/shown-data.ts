/** Maximum number of characters that a cell shows of an entry's data. A longer text would not fit. */
const PREVIEW_CHARS = 300

/** Data of an entry for display, without `projectId` (docs/specification.md 3). */
export function shownData(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([key]) => key !== 'projectId'))
}

/** The beginning of an entry's data, for a cell of one line. */
export function dataPreview(data: Record<string, unknown>): string {
  return JSON.stringify(shownData(data)).slice(0, PREVIEW_CHARS)
}
