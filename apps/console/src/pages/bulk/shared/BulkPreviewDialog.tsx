import { counted, formatCount } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { Dialog, DialogBody, DialogFoot } from '../../../ui/app/Dialog.tsx'
import { Button } from '../../../ui/Button.tsx'
import { DeviceName } from '../../devices/shared/DeviceName.tsx'
import styles from './BulkPreviewDialog.module.css'
import type { DecisionKind } from './bulk-words.ts'
import { MAX_INLINE } from './bulk-words.ts'
import type { BulkPreview } from './use-bulk-run.ts'

const CONSEQUENCE: Record<DecisionKind, string> = {
  Accept: 'Their devices can connect from then on.',
  Reject: 'A rejected certificate stays rejected. The device needs a new one.',
  Delete: 'Their history goes with them. A device that still runs appears again as a new one.',
}

type BulkPreviewDialogProps = {
  preview: BulkPreview
  busy: boolean
  error: unknown
  onStart: () => void
  onClose: () => void
}

/** Preview of a bulk action before it starts: the number of items, the first devices, and the number of items that are left out. */
export function BulkPreviewDialog({ preview, busy, error, onStart, onClose }: BulkPreviewDialogProps) {
  const { kind, itemCount, deviceCount, connectedCount, leftOutCount, first } = preview
  const isDeletion = kind === 'Delete'
  const subject = isDeletion ? counted(itemCount, 'device') : counted(itemCount, 'certificate')
  const rest = deviceCount - first.length
  return (
    <Dialog
      title={itemCount === 0 ? `Nothing to ${kind.toLowerCase()}` : `${kind} ${subject}`}
      busy={busy}
      onClose={onClose}
    >
      <DialogBody>
        {itemCount > 0 && (
          <>
            <ul className={styles.names}>
              {first.map(device => (
                <li key={device.deviceId}>
                  <DeviceName {...device} /> <span className="mono muted">{device.deviceId}</span>
                </li>
              ))}
              {rest > 0 && <li className="muted">and {counted(rest, 'more device')}</li>}
            </ul>
            <p className="secondary">
              {connectedCount > 0 &&
                isDeletion &&
                `${formatCount(connectedCount)} of them are connected now. `}
              {CONSEQUENCE[kind]}
              {isDeletion &&
                itemCount > MAX_INLINE &&
                ' The deletion starts after 10 s and can be cancelled.'}
            </p>
          </>
        )}
        {leftOutCount > 0 && (
          <p className="secondary">
            {isDeletion
              ? `Left out: ${counted(leftOutCount, 'device')} that no longer exist.`
              : `Left out: ${formatCount(leftOutCount)} without a pending certificate.`}
          </p>
        )}
        <p className="help">
          The list is fixed now. Devices and certificates that come later are not included, and each one is
          checked again at its turn.
        </p>
        <ErrorAlert title={`Could not ${kind.toLowerCase()}.`} error={error} />
      </DialogBody>
      <DialogFoot>
        <Button disabled={busy} onClick={onClose}>
          Cancel
        </Button>
        <Button
          variant={isDeletion ? 'danger' : 'primary'}
          busy={busy}
          disabled={itemCount === 0}
          onClick={onStart}
        >
          {kind} {subject}
        </Button>
      </DialogFoot>
    </Dialog>
  )
}
