import type { ActionInput } from '@muster/actions/client'
import { PROBLEMS_FIRST } from '@muster/predicates'
import { Bookmark, Columns3, Download, Ellipsis, FileInput, ListChecks, ListFilterPlus } from 'lucide-react'
import { exportUrl } from '../../../../ui/app/ExportMenu.tsx'
import { Menu, MenuAnchor, MenuChoice, MenuItem, MenuLine, MenuLink } from '../../../../ui/app/Menu.tsx'
import { Button } from '../../../../ui/Button.tsx'

/** Sort orders that the menu offers on a phone, where the heads of the columns are hidden. */
const ORDERS = [
  { value: '-firstSeen', label: 'Newest first' },
  { value: PROBLEMS_FIRST, label: 'Problems first' },
  { value: 'name', label: 'By name' },
  { value: 'lastSeenAt', label: 'Not seen for longest first' },
  { value: '-pendingCertificatesCount', label: 'Pending first' },
]

type PhoneMenuProps = {
  sort: string
  onSort: (sort: string) => void
  onPanel: (panel: 'columns' | 'condition' | 'views') => void
  /** Called to show the checkboxes of the rows. */
  onSelecting: () => void
  /** Input of the query for an export. */
  exported: ActionInput<'projects_QueryDevices'>
}

/** Menu "…" of the device list on a phone: sort order, conditions, columns, selection and export. */
export function PhoneMenu({ sort, onSort, onPanel, onSelecting, exported }: PhoneMenuProps) {
  return (
    <Menu
      align="end"
      trigger={
        <Button aria-label="Order, conditions, views, columns, selection, export">
          <Ellipsis className="icon" aria-hidden />
        </Button>
      }
    >
      <MenuChoice label="Order" value={sort} options={ORDERS} onChange={onSort} />
      <MenuLine />
      <MenuItem icon={ListFilterPlus} onSelect={() => onPanel('condition')}>
        Add a condition
      </MenuItem>
      <MenuItem icon={Bookmark} onSelect={() => onPanel('views')}>
        Views
      </MenuItem>
      <MenuItem icon={Columns3} onSelect={() => onPanel('columns')}>
        Columns
      </MenuItem>
      <MenuItem icon={ListChecks} onSelect={onSelecting}>
        Select
      </MenuItem>
      <MenuAnchor icon={Download} href={exportUrl('projects_QueryDevices', exported, 'csv')} download>
        Export as CSV
      </MenuAnchor>
      <MenuAnchor icon={Download} href={exportUrl('projects_QueryDevices', exported, 'jsonl')} download>
        Export as JSON Lines
      </MenuAnchor>
      <MenuLink icon={FileInput} from="/org_{$organization}/projects/$projectId/devices" to="./import">
        Import names and labels
      </MenuLink>
    </Menu>
  )
}
