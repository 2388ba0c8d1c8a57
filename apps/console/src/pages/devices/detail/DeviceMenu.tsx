import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, ExternalLink, History, Link2, List, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { usePageAction } from '../../../lib/app/page-actions.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { copyText } from '../../../lib/clipboard.ts'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Menu, MenuItem, MenuLine, MenuLink } from '../../../ui/app/Menu.tsx'
import { toast } from '../../../ui/app/toast.ts'
import { startDeletion } from '../shared/deletions.ts'

type DeviceMenuProps = {
  projectId: string
  deviceId: string
  name: string
  refresh: () => unknown
  openProxy: () => unknown
}

/** Route of the page of a device. */
export const DEVICE_PAGE = '/org_{$organization}/projects/$projectId/devices/$deviceId'

/**
 * Menu "…" with the actions of a device's page. On phones it stands beside the breadcrumb and also contains HTTP Proxy, because a separate
 * button would need a row of its own. The search dialog (`Palette`) offers the same actions.
 */
export function DeviceMenu({ projectId, deviceId, name, refresh, openProxy }: DeviceMenuProps) {
  const isNarrow = useIsNarrow()
  const remove = useDelete({ projectId, deviceId, name })
  usePageAction({ label: 'HTTP Proxy', icon: ExternalLink, run: openProxy })
  usePageAction({ label: 'Rename this device', icon: Pencil, run: toNameField })
  usePageAction({ label: 'Delete this device', icon: Trash2, run: remove })
  usePageAction({ label: 'Refresh', icon: RefreshCw, keys: 'r', run: refresh })
  return (
    <Menu
      align="end"
      trigger={<IconButton label="More actions" icon={Ellipsis} variant={isNarrow ? 'ghost' : 'secondary'} />}
    >
      {isNarrow && (
        <MenuItem icon={ExternalLink} onSelect={() => void openProxy()}>
          HTTP Proxy
        </MenuItem>
      )}
      <MenuLink from={DEVICE_PAGE} to="./timeline" icon={History}>
        What happened
      </MenuLink>
      <MenuLink from={DEVICE_PAGE} to="./events" icon={List}>
        All events
      </MenuLink>
      <MenuLine />
      <MenuItem icon={RefreshCw} onSelect={() => void refresh()}>
        Refresh
      </MenuItem>
      <MenuItem icon={Link2} onSelect={() => void copyLink()}>
        Copy Link
      </MenuItem>
      <MenuItem icon={Pencil} onSelect={toNameField}>
        Rename
      </MenuItem>
      <MenuLine />
      <MenuItem icon={Trash2} onSelect={() => void remove()}>
        Delete Device
      </MenuItem>
    </Menu>
  )
}

/** Starts the deletion without confirmation and opens the list, which offers Undo (docs/specification.md 5, docs/product.md 4). */
export function useDelete(device: { projectId: string; deviceId: string; name: string }) {
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  return async () => {
    startDeletion(queryClient, device)
    await navigate({ from: DEVICE_PAGE, to: '..', replace: true })
  }
}

async function copyLink() {
  const { origin, pathname } = window.location
  if (await copyText(origin + pathname)) toast('Link copied.')
}

/** Focuses the field for the name at the end of the page, one frame later: the closing menu first returns the focus to its button. */
function toNameField() {
  requestAnimationFrame(() => {
    const field = document.querySelector<HTMLElement>('#name input')
    field?.scrollIntoView({ block: 'center' })
    field?.focus({ preventScroll: true })
  })
}
