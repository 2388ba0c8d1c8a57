import { useNavigate, useParams } from '@tanstack/react-router'
import { Suspense } from 'react'
import { optionalPart } from '../../lib/app/optional-part.ts'
import { useShortcut } from '../../lib/app/shortcuts.ts'
import { copyText } from '../../lib/clipboard.ts'
import { useCurrentOrganization } from '../../organization.ts'
import { toast } from '../../ui/app/toast.ts'
import { organizationPages } from './pages.ts'

const ShortcutsSheet = optionalPart(async () => (await import('../lazy/ShortcutsSheet.tsx')).ShortcutsSheet)

type ShortcutsProps = { isSheetOpen: boolean; onSheet: (isOpen: boolean) => void }

/** Registers the shortcuts of all signed-in pages, and shows the list of shortcuts that work on the current page. */
export function Shortcuts({ isSheetOpen, onSheet }: ShortcutsProps) {
  const organizationId = useCurrentOrganization()?.organizationId
  const { projectId } = useParams({ strict: false })
  useShortcut('j', 'Next row', () => moveToRow(1))
  useShortcut('k', 'Previous row', () => moveToRow(-1))
  useShortcut('Enter', 'Open the row', openRow)
  useShortcut('c', 'Copy the id of the row', copyRowId)
  useShortcut('?', 'This sheet', () => onSheet(true))
  return (
    <>
      {organizationId && organizationPages(organizationId).map(page => <GoTo key={page.keys} {...page} />)}
      {organizationId && projectId && (
        <GoTo keys="g d" label="Devices" to={`/${organizationId}/projects/${projectId}/devices`} />
      )}
      {isSheetOpen && (
        <Suspense>
          <ShortcutsSheet onClose={() => onSheet(false)} />
        </Suspense>
      )}
    </>
  )
}

function GoTo({ keys, label, to }: { keys: string; label: string; to: string }) {
  const navigate = useNavigate()
  useShortcut(keys, label, () => navigate({ to }))
  return null
}

/** Selector of table rows, of rows in lists (`data-row`) and of cards in grids. It excludes group headings, skeleton rows and unfolded details. */
const ROWS =
  'main tbody tr:has(> td + td):not([data-detail], [data-skeleton]), main li[data-row], main [data-card]:has(a)'

/** Moves the focus to the next or previous row. If no row has the focus, moves it to the first row in view. */
function moveToRow(step: 1 | -1) {
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
function openRow() {
  const row = document.activeElement
  const opener = row?.matches(ROWS) && row.querySelector<HTMLElement>('a[href], [data-fold]')
  if (!opener) return false
  opener.click()
}

/** Copies the id of the focused row. For a row without a copy button the id is taken from the URL of its link. */
async function copyRowId() {
  const row = document.activeElement?.closest(ROWS)
  const button = row?.querySelector<HTMLElement>('.copyable .copy')
  const id = row?.querySelector<HTMLAnchorElement>('a[href]')?.pathname.split('/').at(-1)
  if (button) button.click()
  else if (id && (await copyText(id))) toast(`${id} copied.`)
}
