import { copyText } from '../../lib/clipboard.ts'
import { toast } from '../../ui/app/toast.ts'

/** Selector of table rows, of rows of timelines and of cards in grids. It excludes group headings, skeleton rows and unfolded details. */
const ROWS = 'main tbody tr:has(> td + td):not(.detail, .skel-tr), main .tl, main .prop, main .card:has(a)'

/** Moves the focus to the next or previous row. If no row has the focus, moves it to the first row in view. */
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

/** Follows the link of the focused row, or unfolds the row. Returns `false` if no row with a link or details has the focus. */
export function openRow() {
  const row = document.activeElement
  const opener = row?.matches(ROWS) && row.querySelector<HTMLElement>('a[href], .fold')
  if (!opener) return false
  opener.click()
}

/** Copies the id of the focused row. For a row without a copy button the id is taken from the URL of its link. */
export async function copyRowId() {
  const row = document.activeElement?.closest(ROWS)
  const button = row?.querySelector<HTMLElement>('.idc .copy')
  const id = row?.querySelector<HTMLAnchorElement>('a[href]')?.pathname.split('/').at(-1)
  if (button) button.click()
  else if (id && (await copyText(id))) toast(`${id} copied.`)
}
