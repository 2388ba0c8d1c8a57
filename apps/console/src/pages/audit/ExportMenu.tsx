import type { ActionName } from '@muster/actions/client'
import { ChevronDown, Download } from 'lucide-react'
import { Button } from '../../ui/Button.tsx'
import { Menu, MenuAnchor } from '../../ui/Menu.tsx'

const FORMATS = [
  { extension: 'csv', label: 'CSV' },
  { extension: 'jsonl', label: 'JSON Lines' },
]

type ExportMenuProps = {
  /** A query whose whole list is downloaded. */
  action: ActionName
  /** Its input without page and order. */
  input: object
}

/** Downloads all that the filter matches, not only the rows on screen. */
export function ExportMenu({ action, input }: ExportMenuProps) {
  const query = encodeURIComponent(JSON.stringify(input))
  return (
    <Menu
      align="end"
      trigger={
        <Button icon={Download}>
          Export
          <ChevronDown className="i i-14" aria-hidden />
        </Button>
      }
    >
      {FORMATS.map(({ extension, label }) => (
        <MenuAnchor key={extension} href={`/api/v1/export/${action}.${extension}?input=${query}`} download>
          {label}
        </MenuAnchor>
      ))}
    </Menu>
  )
}
