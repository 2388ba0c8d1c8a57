/** A column of a printed list. */
export type Column<Row> = { title: string; of: (row: Row) => string | number | boolean | undefined }

/** Formats rows as text in aligned columns. Control characters in cells are replaced. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const lines = [
    columns.map(column => column.title),
    ...rows.map(row => columns.map(({ of }) => plain(of(row)))),
  ]
  const widths = columns.map((_, index) =>
    lines.reduce((widest, cells) => Math.max(widest, cells[index]!.length), 0),
  )
  const text = lines.map(cells =>
    cells
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('  ')
      .trimEnd(),
  )
  return `${text.join('\n')}\n`
}

/** Matches characters that can control a terminal, including line breaks. */
const CONTROLS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** Replaces control characters except line breaks in untrusted text, so that the text cannot control a terminal. */
export function harmless(text: string): string {
  return text.replace(CONTROLS, found => (found === '\n' ? found : '\ufffd'))
}

/** Formats a value as text without control characters. A missing value becomes a dash. */
export function plain(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  return String(value).replace(CONTROLS, '\ufffd')
}
