import type { ActionOutput } from '@muster/actions/client'
import Papa from 'papaparse'

type Item = ActionOutput<'devices_QueryBulkActionItems'>['items'][number]
type Problem = ActionOutput<'devices_QueryBulkImportProblems'>['rows'][number]

/**
 * CSV of the results of a bulk action: a line for each device, with a column for each label before and after it, and a line for each row of an
 * import that changed no device. Cells that a spreadsheet would run as formulas begin with an apostrophe.
 */
export function resultCsv(items: readonly Item[], problems: readonly Problem[] = []): string {
  const labels = new Set<string>()
  for (const { changes = [] } of items)
    for (const { label } of changes) if (label !== undefined) labels.add(label)
  const keys = [...labels].toSorted()
  const fields = [
    ...['row', 'deviceId', 'name', 'hostname', 'outcome', 'reason', 'name before', 'name after'],
    ...keys.flatMap(key => [`${key} before`, `${key} after`]),
  ]
  const lines = items.map(({ row, deviceId, name, hostname, outcome, reason, changes = [] }) => {
    const valuesOf = (label: string | undefined) => {
      const change = changes.find(one => one.label === label)
      return [change?.before, change?.after]
    }
    return [
      ...[row, deviceId, name, hostname, outcome ?? 'Open', reason, ...valuesOf(undefined)],
      ...keys.flatMap(valuesOf),
    ]
  })
  const refused = problems.map(({ row, key, problem, message }) => [
    ...[row, key, undefined, undefined, 'Refused', message ? `${problem}: ${message}` : problem],
  ])
  const data = [...lines, ...refused].map(line => fields.map((_, at) => line[at] ?? ''))
  return `\uFEFF${Papa.unparse({ fields, data }, { escapeFormulae: true, newline: '\r\n' })}\r\n`
}
