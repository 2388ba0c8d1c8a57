import { useNavigate, useParams } from '@tanstack/react-router'
import { COMMAND_KEY } from '../../lib/app/command-key.ts'
import { setShortcutsOn, shortcutsHere, useShortcut, useShortcutsOn } from '../../lib/app/shortcuts.ts'
import { useCurrentOrganization } from '../../organization.ts'
import { Dialog, DialogBody } from '../../ui/app/Dialog.tsx'
import { Switch } from '../../ui/app/Switch.tsx'
import { organizationPages } from './pages.ts'
import { copyRowId, moveToRow, openRow } from './rows.ts'

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
      {isSheetOpen && <Sheet onClose={() => onSheet(false)} />}
    </>
  )
}

function GoTo({ keys, label, to }: { keys: string; label: string; to: string }) {
  const navigate = useNavigate()
  useShortcut(keys, label, () => navigate({ to }))
  return null
}

/** Keys of all shortcuts, in the order of the dialog that lists the shortcuts. */
const ORDER = [
  'g p',
  'g r',
  'g d',
  'g s',
  '/',
  'n',
  'r',
  'j',
  'k',
  'Enter',
  'x',
  'X',
  'a',
  'c',
  'z',
  'e',
  'h',
  'p',
  '?',
]

function Sheet({ onClose }: { onClose: () => void }) {
  const isOn = useShortcutsOn()
  const words = shortcutsHere()
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <DialogBody>
        <div className="row">
          <span className="grow">Shortcuts of single keys</span>
          <Switch label="Shortcuts of single keys" checked={isOn} onChange={setShortcutsOn} />
        </div>
        <p className="help">They do nothing while you type. Off, they do nothing at all in this browser.</p>
        <dl className="keys">
          {ORDER.filter(keys => words.has(keys)).map(keys => (
            <div key={keys}>
              <dt>
                <Keys keys={keys} />
              </dt>
              <dd>{words.get(keys)}</dd>
            </div>
          ))}
          <div>
            <dt>
              <Keys keys={`${COMMAND_KEY} K`} />
            </dt>
            <dd>Jump to…</dd>
          </div>
          <div>
            <dt>
              <Keys keys="Esc" />
            </dt>
            <dd>Close, or clear the filter</dd>
          </div>
        </dl>
      </DialogBody>
    </Dialog>
  )
}

function Keys({ keys }: { keys: string }) {
  return keys.split(' ').map((key, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a key has no identity but its position
    <kbd key={index}>{key}</kbd>
  ))
}
