import type { ActionOutput } from '@muster/actions/client'
import { Ban, RefreshCw, ShieldAlert, ShieldCheck, Trash2, TriangleAlert, X } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useAction, useCommand } from '../../../api/queries.ts'
import { lookUp } from '../../../lib/app/look-up.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Badge } from '../../../ui/app/Badge.tsx'
import { ActionsHead } from '../../../ui/app/column-heads.tsx'
import { IconButton } from '../../../ui/app/IconButton.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Time, TimesTogether } from '../../../ui/app/Time.tsx'
import { toastError } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { SectionBoundary } from '../../../ui/lazy/SectionBoundary.tsx'
import { StateBadge, type StateLook } from '../../../ui/lazy/StateBadge.tsx'
import { HeldDecisionWords } from '../../approvals/shared/HeldDecisionWords.tsx'
import { SHOW_CERTIFICATES, useHeldDecision, useHoldDecision } from '../../approvals/shared/held-decision.ts'
import styles from './CertificatesSection.module.css'
import { Fingerprint } from './Fingerprint.tsx'

type Certificate = ActionOutput<'devices_GetDetails'>['certificates'][number]
type Status = Certificate['status']

const LOOKS: Record<Status, StateLook> = {
  Pending: { tone: 'warn', icon: ShieldAlert },
  Active: { tone: 'ok', icon: ShieldCheck },
  Rejected: { tone: 'bad', icon: X },
  Revoked: { tone: 'neutral', icon: Ban },
}

type Move = { label: string; to: Exclude<Status, 'Pending'>; failed: string; keepSuccessors?: true }

/** Button that leaves those certificates active that the device has announced with this one. */
const REVOKE_ALONE: Move = {
  label: 'Revoke only this',
  to: 'Revoked',
  failed: 'Could not revoke the certificate',
  keepSuccessors: true,
}

/** Allowed changes of a certificate's status, with the buttons for them (docs/specification.md 4). */
const MOVES: Record<Status, Move[]> = {
  Pending: [
    { label: 'Accept', to: 'Active', failed: 'Could not accept the certificate' },
    { label: 'Reject', to: 'Rejected', failed: 'Could not reject the certificate' },
  ],
  Active: [{ label: 'Revoke', to: 'Revoked', failed: 'Could not revoke the certificate' }],
  Rejected: [],
  Revoked: [],
}

/** The certificates of a device with buttons for the allowed changes, without confirmation (docs/specification.md 5). */
export function CertificatesSection({ deviceId }: { deviceId: string }) {
  return (
    <Section id="certs" title="Certificates" padded={false}>
      <SectionBoundary what="certificates">
        <Certificates deviceId={deviceId} />
      </SectionBoundary>
    </Section>
  )
}

function Certificates({ deviceId }: { deviceId: string }) {
  const { certificates } = useAction('devices_GetDetails', { deviceId })
  const box = useRef<HTMLDivElement>(null)
  return (
    <div ref={box} tabIndex={-1}>
      {certificates.length === 0 && (
        <div className="inset">
          <p className="muted">No certificates.</p>
        </div>
      )}
      {certificates.some(({ isShared }) => isShared) && (
        <div className="inset">
          <Alert tone="warn" title="A certificate of this device is shared.">
            Another device of the project has shown the same one.
          </Alert>
        </div>
      )}
      {certificates.length > 0 && (
        <div className="bare">
          <table className={`table ${styles.table}`} data-dense data-on-phones="rows">
            <caption className="visually-hidden">Certificates</caption>
            <thead>
              <tr>
                <th scope="col">Id</th>
                <th scope="col">First Seen</th>
                <th scope="col">Status</th>
                <th scope="col">Fingerprint</th>
                <ActionsHead />
              </tr>
            </thead>
            <tbody>
              <TimesTogether>
                {certificates.map(certificate => (
                  <CertificateRow
                    key={certificate.certificateId}
                    certificate={certificate}
                    hasSuccessor={certificates.some(
                      ({ predecessorId, status }) =>
                        predecessorId === certificate.certificateId && status === 'Active',
                    )}
                    onGone={() => box.current?.focus()}
                  />
                ))}
              </TimesTogether>
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}

type CertificateProps = {
  certificate: Certificate
  /** Whether the device has announced another certificate with this one, which is active. */
  hasSuccessor: boolean
  /** Moves the focus when the row disappears. */
  onGone: () => void
}

/** A row with a certificate. */
function CertificateRow({ certificate, ...props }: CertificateProps) {
  const { certificateId, status, fingerprint, firstSeen, isShared, predecessorId } = certificate
  return (
    <tr tabIndex={-1}>
      <td data-k="Id">
        <Id id={certificateId} what="certificate id" />
      </td>
      <td data-k="First Seen">
        <Time at={firstSeen} />
      </td>
      <td data-k="Status">
        <span className={`wrap ${styles.states}`}>
          <StateBadge looks={LOOKS} state={status} />
          {isShared && (
            <Badge tone="warn" icon={TriangleAlert}>
              Shared
            </Badge>
          )}
          {predecessorId !== undefined && <Badge icon={RefreshCw}>Announced by the device</Badge>}
        </span>
      </td>
      <td data-k="Fingerprint">
        <span className="copyable">
          <Fingerprint fingerprint={fingerprint} />
          <CopyButton text={fingerprint} label="Copy fingerprint" />
        </span>
      </td>
      <td className="end">
        <CertificateActions certificate={certificate} {...props} />
      </td>
    </tr>
  )
}

function CertificateActions({
  certificate: { certificateId, status },
  hasSuccessor,
  onGone,
}: CertificateProps) {
  const actions = useRef<HTMLSpanElement>(null)
  const setStatus = useCommand('devices_SetCertificateStatus', { invalidates: SHOW_CERTIFICATES })
  const remove = useCommand('devices_DeleteCertificate', { invalidates: SHOW_CERTIFICATES })
  const isBusy = setStatus.isPending || remove.isPending
  const isAsked = (to: Status, keepSuccessors: true | undefined) =>
    setStatus.variables?.status === to && setStatus.variables.keepSuccessors === keepSuccessors
  const moves = [...lookUp(MOVES, status, []), ...(status === 'Active' && hasSuccessor ? [REVOKE_ALONE] : [])]
  const hold = useHoldDecision()
  const decision = useHeldDecision(certificateId)
  const hasMoved = useRef(false)
  const moveFocus = () => {
    hasMoved.current = true
  }
  // The clicked button disappears when its decision is held, or with the old status. The focus moves to the row, not to the next button: holding
  // Enter would otherwise accept and then revoke the certificate.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the status changes
  useEffect(() => {
    if (hasMoved.current) actions.current?.closest('tr')?.focus()
    hasMoved.current = false
  }, [status, decision?.state])
  return (
    <span ref={actions} className={`row ${styles.actions}`}>
      {decision && <HeldDecisionWords decision={decision} size="sm" onUndo={moveFocus} />}
      {(decision ? [] : moves).map(({ label, to, failed, keepSuccessors }, index) => (
        <Button
          key={label}
          size="sm"
          variant={status === 'Pending' && index === 0 ? 'secondary' : 'ghost'}
          busy={setStatus.isPending && isAsked(to, keepSuccessors)}
          disabled={isBusy && !isAsked(to, keepSuccessors)}
          onClick={() => {
            moveFocus()
            // Accepting or rejecting can be undone for 10 s, because the two buttons are next to each other.
            if (to !== 'Revoked') return hold({ certificateId, status: to })
            setStatus.mutate(
              { certificateId, status: to, keepSuccessors },
              { onError: error => toastError(failed, error) },
            )
          }}
        >
          {label}
          <span className="visually-hidden"> certificate {certificateId}</span>
        </Button>
      ))}
      <IconButton
        size="sm"
        icon={Trash2}
        label={`Delete certificate ${certificateId}`}
        busy={remove.isPending}
        disabled={decision !== undefined}
        onClick={() =>
          remove
            .mutateAsync({ certificateId })
            .then(onGone, error => toastError('Could not delete the certificate', error))
        }
      />
    </span>
  )
}
