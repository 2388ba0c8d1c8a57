import { useSecsLeft } from '../../../lib/app/undo-time.ts'
import { Button } from '../../../ui/Button.tsx'
import styles from './bar.module.css'
import type { HeldBulk } from './bulk-store.ts'
import { doingWord, itemsOfPreview } from './bulk-words.ts'
import { closeBulk } from './current-bulk.ts'

/** "Rejecting 2 certificates in 9 s." with Undo, then "Rejecting 2 certificates…" until the answer. */
export function HeldBulkWords({ bulk }: { bulk: HeldBulk }) {
  const secs = useSecsLeft(bulk)
  const what = `${doingWord(bulk.preview.kind)} ${itemsOfPreview(bulk.preview)}`
  return (
    <div className={styles.wrapped}>
      <span className="tabular">{bulk.state === 'waiting' ? `${what} in ${secs} s.` : `${what}…`}</span>
      {bulk.state === 'waiting' && <Button onClick={closeBulk}>Undo</Button>}
    </div>
  )
}
