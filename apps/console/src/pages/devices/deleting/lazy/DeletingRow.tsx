import { CircleAlert, X } from 'lucide-react'
import { useState } from 'react'
import { ageMs, useSecsLeft } from '../../../../lib/app/undo-time.ts'
import { Button } from '../../../../ui/Button.tsx'
import { ErrorText } from '../../../../ui/ErrorText.tsx'
import columnStyles from '../../list/columns.module.css'
import { type Deletion, undoDeletion } from '../../shared/deletions.ts'
import styles from '../deleting.module.css'

// The role is explicit, because on phones CSS changes `display`, and browsers then drop the implicit role.
const CELL = { role: 'cell' }

/** Consequence of a deletion that people do not expect. */
export const RETURNS = 'A device that still runs returns as a new one.'

/** Cells of a row whose device is being deleted: its name struck through, the seconds that are left, and Undo. */
export function DeletingCells({ deletion, columns }: { deletion: Deletion; columns: number }) {
  const { deviceId, name, state } = deletion
  const [passedMs] = useState(() => ageMs(deletion))
  // The Undo button is wider than the last column of most tables.
  const undoColumns = columns > 3 ? 2 : 1
  return (
    <>
      <td {...CELL} className={columnStyles.name}>
        <span className={`name ${styles.name}`}>{name}</span>
      </td>
      <td {...CELL} colSpan={columns - 1 - undoColumns}>
        <span className={styles.words}>
          <DeletingWords deletion={deletion} />
        </span>
        {state === 'waiting' && (
          <>
            <span className={styles.countdown} aria-hidden="true">
              <i style={{ animationDelay: `${-passedMs}ms` }} />
            </span>
            <span className={styles.note}>{RETURNS}</span>
          </>
        )}
      </td>
      <td {...CELL} colSpan={undoColumns} className={`end ${styles.undo}`}>
        {state === 'waiting' && (
          <Button size="sm" onClick={() => undoDeletion(deviceId)}>
            Undo<span className="visually-hidden"> deleting {name}</span>
          </Button>
        )}
      </td>
    </>
  )
}

/** "Deleting in 10 s.", counted down in whole seconds; "Deleting…" once it was sent. */
export function DeletingWords({ deletion }: { deletion: Deletion }) {
  const secs = useSecsLeft(deletion)
  return deletion.state === 'waiting' ? `Deleting in ${secs} s.` : 'Deleting…'
}

/** The reason why a device was not deleted, below its name. It stays until it is dismissed. */
export function NotDeleted({ deletion: { deviceId, reason } }: { deletion: Deletion }) {
  return (
    <span className={`row ${styles.reason}`} role="alert">
      <CircleAlert className="icon small-icon" aria-hidden />
      <span>
        Not deleted: <ErrorText error={reason} />
      </span>
      <button type="button" className="copy" aria-label="Dismiss" onClick={() => undoDeletion(deviceId)}>
        <X className="icon small-icon" aria-hidden />
      </button>
    </span>
  )
}
