import type { ActionName } from '@muster/actions/client'
import { ChevronDown, Download } from 'lucide-react'
import type { ReactNode } from 'react'
import { usePageAction } from '../../lib/app/page-actions.ts'
import { Button, type ButtonProps } from '../Button.tsx'
import { Menu, MenuAnchor } from './Menu.tsx'

const FORMATS = [
  { extension: 'csv', label: 'CSV' },
  { extension: 'jsonl', label: 'JSON Lines' },
]

type ExportMenuProps = {
  /** Query action whose whole list is downloaded. */
  action: ActionName
  /** Input of the action without `cursor` and `limit`. */
  input: object
  variant?: ButtonProps['variant']
  label?: string
  /** Further items below the downloads. */
  children?: ReactNode
}

/** URL from which the browser downloads the whole list of a query. */
export function exportUrl(action: ActionName, input: object, extension: string): string {
  return `/api/v1/export/${action}.${extension}?input=${encodeURIComponent(JSON.stringify(input))}`
}

/** Menu with downloads of all rows that match the filter, not only those on screen. */
export function ExportMenu({
  action,
  input,
  variant = 'secondary',
  label: button = 'Export',
  children,
}: ExportMenuProps) {
  usePageAction({
    label: button === 'Export' ? 'Export this list as CSV' : `${button} as CSV`,
    icon: Download,
    run: () => download(exportUrl(action, input, 'csv')),
  })
  return (
    <Menu
      align="end"
      trigger={
        <Button variant={variant} icon={Download}>
          {button}
          <ChevronDown className="icon small-icon" aria-hidden />
        </Button>
      }
    >
      <ExportItems action={action} input={input} />
      {children}
    </Menu>
  )
}

/** Menu items that download the rows of a list, one for each file format. */
export function ExportItems({ action, input }: Pick<ExportMenuProps, 'action' | 'input'>) {
  return FORMATS.map(({ extension, label }) => (
    <MenuAnchor key={extension} href={exportUrl(action, input, extension)} download>
      {label}
    </MenuAnchor>
  ))
}

function download(url: string) {
  const link = document.createElement('a')
  link.href = url
  link.download = ''
  link.click()
}
