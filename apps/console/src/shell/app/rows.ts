import { copyText } from '../../lib/clipboard.ts'
import { toast } from '../../ui/app/toast.ts'

/** Rows of tables and cards of grids, without headings, skeleton rows and unfolded details. */
const ROWS = 'main tbody tr:has(> td + td):not(.detail, .skel-tr), main .card:has(a)'

/** Moves the focus to the next or previous row; without a focused row, to the first one in view. */
export function moveToRow(step: 1 | -1) {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)]
  const at = rows.findIndex(row => row.contains(document.activeElement))
  const inView = rows.find(row => row.getBoundingClientRect().top >= 0) ?? rows.at(-1)
  const next = at === -1 ? inView : rows[at + step]
  if (!next) return
  next.tabIndex = -1
  // Without `preventScroll` the browser would centre the row at each step.
  next.focus({ preventScroll: true })
  next.scrollIntoView({ block: 'nearest' })
}

/** Follows the link of the focused row, or unfolds it. Returns `false` without one. */
export function openRow() {
  const row = document.activeElement
  const opener = row?.matches(ROWS) && row.querySelector<HTMLElement>('a[href], .fold')
  if (!opener) return false
  opener.click()
}

/** Copies the id of the focused row. A row without a copy button has the id in its link. */
export async function copyRowId() {
  const row = document.activeElement?.closest(ROWS)
  const button = row?.querySelector<HTMLElement>('.idc .copy')
  const id = row?.querySelector<HTMLAnchorElement>('a[href]')?.pathname.split('/').at(-1)
  if (button) button.click()
  else if (id && (await copyText(id))) toast(`${id} copied.`)
}
