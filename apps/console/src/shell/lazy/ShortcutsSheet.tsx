import { COMMAND_KEY } from '../../lib/app/command-key.ts'
import { setShortcutsOn, shortcutsHere, useShortcutsOn } from '../../lib/app/shortcuts.ts'
import { Dialog, DialogBody } from '../../ui/app/Dialog.tsx'
import { Switch } from '../../ui/app/Switch.tsx'
import styles from './ShortcutsSheet.module.css'

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
  'l',
  'h',
  'p',
  '?',
]

/** Dialog with the shortcuts that work on the current page, and a switch for those of single keys. */
export function ShortcutsSheet({ onClose }: { onClose: () => void }) {
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
        <dl className={styles.shortcuts}>
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
