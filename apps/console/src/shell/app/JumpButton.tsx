import { ActionError } from '@muster/actions/client'
import { Search } from 'lucide-react'
import { type ComponentType, useEffect, useEffectEvent, useState } from 'react'
import { COMMAND_KEY } from '../../lib/app/command-key.ts'
import { loadCode } from '../../lib/load-code.ts'
import { toastError } from '../../ui/app/toast.ts'
import styles from './JumpButton.module.css'

const load = () => loadCode(() => import('../lazy/palette/Palette.tsx'))
/** Loads the code before the user presses the button. A failure is ignored here and reported when the user opens the dialog. */
const preload = () => void load().catch(() => {})

/** Button that opens the search dialog `Palette`. The keys ⌘K and Ctrl K open the dialog on every page. */
export function JumpButton() {
  // The code of `Palette` loads when the user first opens the dialog. If loading fails, the rest of the page continues to work.
  const [Palette, setPalette] = useState<ComponentType<{ onClose: () => void }>>()
  const close = () => setPalette(undefined)
  async function open() {
    try {
      const module = await load()
      setPalette(() => module.Palette)
    } catch (error) {
      // The browser's message about a missing file does not help users.
      const reason = error instanceof ActionError ? error : new Error('Reload the page and try again.')
      toastError('Could not open the search', reason)
    }
  }
  const press = useEffectEvent((event: KeyboardEvent) => {
    const isShortcut = event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)
    if (!isShortcut || event.altKey || event.shiftKey) return
    // Some browsers use Ctrl+K themselves, for example for their search bar.
    event.preventDefault()
    if (Palette) close()
    else if (!document.querySelector('dialog[open]')) void open()
  })
  useEffect(() => {
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  return (
    <>
      <button
        type="button"
        className={`row ${styles.jump}`}
        aria-label="Jump to"
        aria-haspopup="dialog"
        aria-keyshortcuts="Meta+K Control+K"
        onPointerEnter={preload}
        onFocus={preload}
        onClick={() => void open()}
      >
        <Search className="icon" aria-hidden />
        <span>Jump to…</span>
        <kbd>{COMMAND_KEY === '⌘' ? '⌘K' : `${COMMAND_KEY} K`}</kbd>
      </button>
      {Palette && <Palette onClose={close} />}
    </>
  )
}
