import { Ban, ShieldCheck, X } from 'lucide-react'
import { formatCount } from '../../lib/app/format.ts'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Button } from '../../ui/Button.tsx'
import styles from '../bulk/shared/bar.module.css'
import type { HeldBulk } from '../bulk/shared/bulk-store.ts'
import { oneOr } from '../bulk/shared/bulk-words.ts'
import { HeldBulkWords } from '../bulk/shared/HeldBulkWords.tsx'
import { useActionsShortcut } from '../bulk/shared/use-actions-shortcut.ts'
import type { PendingCertificate } from './use-pending-list.ts'

type PendingBarProps = {
  /** Decision that waits 10 s before it is sent. */
  held: HeldBulk | undefined
  selected: ReadonlySet<string>
  certificates: readonly PendingCertificate[]
  total: number
  /** The action that is being sent. */
  busy: 'Accept' | 'Reject' | undefined
  isAsking: boolean
  onAll: () => void
  onAct: (kind: 'Accept' | 'Reject') => void
  onClear: () => void
}

/** The selected certificates and what can be done with them, at the bottom of the window. */
export function PendingBar({
  held,
  selected,
  certificates,
  total,
  busy,
  isAsking,
  onAll,
  onAct,
  onClear,
}: PendingBarProps) {
  const count = formatCount(selected.size)
  const bar = useActionsShortcut()
  if (held)
    return (
      <section className={`${styles.bar} ${styles.low}`} aria-label="Selected certificates">
        <HeldBulkWords bulk={held} />
      </section>
    )
  return (
    <section ref={bar} className={`${styles.bar} ${styles.low}`} aria-label="Selected certificates">
      <div className={`row ${styles.selected}`}>
        <b role="status">{count} selected</b>
        <span className="muted hidden-on-phones">{originWords(selected, certificates)}</span>
        {selected.size < total && (
          <button type="button" className={styles.link} disabled={isAsking} onClick={onAll}>
            Select all {formatCount(total)}
          </button>
        )}
      </div>
      <span className="grow hidden-on-phones" />
      <div className={`${styles.actions} ${styles.wrapped}`}>
        <Button
          icon={Ban}
          busy={busy === 'Reject'}
          disabled={isAsking || busy === 'Accept'}
          onClick={() => onAct('Reject')}
        >
          Reject {count}
        </Button>
        <Button
          icon={ShieldCheck}
          variant="primary"
          busy={busy === 'Accept'}
          disabled={isAsking || busy === 'Reject'}
          onClick={() => onAct('Accept')}
        >
          Accept {count}
        </Button>
      </div>
      <IconButton icon={X} label="Clear the selection" onClick={onClear} />
    </section>
  )
}

/** Origin of the selected certificates: "one token, one address". Empty unless all selected rows are loaded. */
function originWords(selected: ReadonlySet<string>, certificates: readonly PendingCertificate[]): string {
  const known = certificates.filter(({ certificateId }) => selected.has(certificateId))
  if (known.length < selected.size) return ''
  const tokens = new Set(known.map(({ tokenId }) => tokenId))
  const addresses = new Set(known.map(({ remoteAddress }) => remoteAddress))
  return `${oneOr(tokens.size, 'token')}, ${oneOr(addresses.size, 'address')}`
}
