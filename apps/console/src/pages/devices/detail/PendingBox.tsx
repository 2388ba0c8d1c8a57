import type { ActionOutput } from '@muster/actions/client'
import { Link } from '@tanstack/react-router'
import { Check, ShieldAlert } from 'lucide-react'
import { useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { dayInYear } from '../../../lib/app/local-time.ts'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Code } from '../../../ui/Code.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Fact } from '../../../ui/lazy/FactList.tsx'
import { Moment } from '../../../ui/lazy/Moment.tsx'
import { networkWords, newAddressWords } from '../../approvals/shared/group-words.ts'
import { HeldDecisionWords } from '../../approvals/shared/HeldDecisionWords.tsx'
import { useDecisionsOfPage, useHeldDecision, useHoldDecision } from '../../approvals/shared/held-decision.ts'
import { Fingerprint } from './Fingerprint.tsx'
import styles from './PendingBox.module.css'
import box from './problem/problem.module.css'

type Details = ActionOutput<'devices_GetDetails'>
type Certificate = Details['certificates'][number]

/** Command that prints the fingerprint on a device with the agent's default configuration (docs/protocol.md 8.1). */
const FINGERPRINT_COMMAND = 'openssl x509 -noout -fingerprint -sha256 -in /etc/nexigon/agent/ssl/cert.pem'

/** Maximum length, in characters, of a refusal's reason that the sentence shows. */
const LONGEST_REASON = 200

/**
 * Box for a certificate that waits for approval: the fingerprint for comparing it with the device, what is known about the device,
 * and the buttons for the decision. If several certificates wait, the oldest is shown. After the acceptance a line says what comes next.
 */
export function PendingBox({ details }: { details: Details }) {
  const [acceptedId, setAcceptedId] = useState<string>()
  useDecisionsOfPage(details.deviceId)
  const pending = details.certificates
    .filter(({ status }) => status === 'Pending')
    .sort((a, b) => Date.parse(a.firstSeen) - Date.parse(b.firstSeen))
  const [first] = pending
  if (first)
    return (
      <Box
        key={first.certificateId}
        details={details}
        certificate={first}
        others={pending.length - 1}
        onAccepted={() => setAcceptedId(first.certificateId)}
      />
    )
  const isAccepted = details.certificates.some(
    ({ certificateId, status }) => certificateId === acceptedId && status === 'Active',
  )
  if (!isAccepted || details.isConnected) return null
  return (
    <Alert tone="ok" icon={Check}>
      Accepted. Waiting for the device to connect, usually within a minute.
    </Alert>
  )
}

type BoxProps = { details: Details; certificate: Certificate; others: number; onAccepted: () => void }

function Box({ details, certificate, others, onAccepted }: BoxProps) {
  const { certificateId, fingerprint, firstSeen } = certificate
  const isNew = details.certificates.some(({ status }) => status === 'Active')
  const hold = useHoldDecision()
  const decision = useHeldDecision(certificateId)
  function decide(status: 'Active' | 'Rejected') {
    // The buttons disappear, and Undo must not get the focus: holding Enter would undo the decision.
    focusHeading()
    hold({ certificateId, status })
    if (status === 'Active') onAccepted()
  }
  return (
    <section className={`sheet bleed ${box.box}`} data-tone="warn" aria-labelledby="pending">
      <div className={box.main}>
        <div className={box.icon}>
          <ShieldAlert className="icon" aria-hidden />
        </div>
        <div className="grow">
          <h2 id="pending">
            {isNew ? 'A new certificate of this device' : 'This device'} waits for approval since{' '}
            <Moment at={firstSeen} isSince />
          </h2>
          <p>
            <Attempts details={details} />
            {others > 0 &&
              ` ${counted(others, 'further certificate')} below ${others === 1 ? 'waits' : 'wait'} too.`}
          </p>
        </div>
      </div>
      <div className={styles.comparison}>
        <div className={styles.fingerprint}>
          <h3>Compare the fingerprint with the device</h3>
          <span className="copyable touch-area">
            <Fingerprint fingerprint={fingerprint} isBig />
            <CopyButton text={fingerprint} label="Copy the waiting fingerprint" />
          </span>
          <p className="help">On the device:</p>
          <Code text={FINGERPRINT_COMMAND} label="Copy command" />
        </div>
        <dl className={`touch-area ${styles.facts}`}>
          <Fact label="Token">
            <TokenName certificate={certificate} />
            <TokenFacts projectId={details.projectId} tokenId={certificate.tokenId} />
          </Fact>
          <Fact label="Address">
            {certificate.remoteAddress === undefined ? (
              <span className="secondary">Not recorded</span>
            ) : (
              <span className="mono">{certificate.remoteAddress}</span>
            )}
            <AddressFacts details={details} />
          </Fact>
          <Fact label="Host name">
            {details.hostname ? (
              <bdi className="mono">{details.hostname}</bdi>
            ) : (
              <span className="secondary">Not known before it connects</span>
            )}
            <TwinFacts details={details} certificateId={certificateId} />
          </Fact>
          <OwnerFacts certificate={certificate} />
        </dl>
      </div>
      <div className={`row ${styles.decision}`}>
        <span className="help">Once rejected, it can come back only with a new certificate.</span>
        {decision ? (
          <HeldDecisionWords decision={decision} onUndo={focusHeading} />
        ) : (
          <>
            <Button onClick={() => decide('Rejected')}>Reject</Button>
            <Button variant="primary" icon={Check} onClick={() => decide('Active')}>
              Accept
            </Button>
          </>
        )}
      </div>
    </section>
  )
}

function Attempts({ details: { isConnected, lastRefusal } }: { details: Details }) {
  if (isConnected) return 'The device is connected with another certificate.'
  return (
    <>
      {lastRefusal && (
        <>
          It tried to connect {counted(lastRefusal.count, 'time')}, last <Moment at={lastRefusal.at} />:{' '}
          {lastRefusal.reason.slice(0, LONGEST_REASON)}.{' '}
        </>
      )}
      It stays outside until somebody accepts its certificate.
    </>
  )
}

function TokenName({ certificate: { tokenId, tokenName } }: { certificate: Certificate }) {
  if (tokenId === undefined) return <span className="secondary">Not recorded</span>
  if (tokenName === undefined) return <span className="secondary">A token that was deleted</span>
  return (
    <Link from="/org_{$organization}/projects/$projectId" to="./tokens" search={{ q: tokenName }}>
      <bdi>{tokenName}</bdi>
    </Link>
  )
}

type TokenFactsProps = { projectId: string; tokenId: string | undefined }

/** Time around the creation of a token, in milliseconds, in which the log of the project is searched for it. */
const AROUND_MS = 60_000

/** Maker and age of a deployment token, and the number of devices that have joined with it. */
function TokenFacts({ projectId, tokenId }: TokenFactsProps) {
  const token = useActionState(
    'projects_QueryDeploymentTokens',
    { projectId, filter: { text: tokenId ?? '' }, limit: 1 },
    { enabled: tokenId !== undefined },
  ).data?.tokens.find(one => one.tokenId === tokenId)
  const madeMs = Date.parse(token?.createdAt ?? '')
  const creation = useActionState(
    'projects_QueryAuditLog',
    {
      projectId,
      limit: 1,
      filter: {
        types: ['projects_DeploymentTokenCreated'],
        subject: tokenId,
        ...(token && {
          since: new Date(madeMs - AROUND_MS).toISOString(),
          until: new Date(madeMs + AROUND_MS).toISOString(),
        }),
      },
    },
    { enabled: token !== undefined },
  ).data?.events[0]
  if (!token) return null
  return (
    <span className={`help ${styles.more}`}>
      Made{' '}
      {creation?.actorName !== undefined && (
        <>
          by <bdi>{creation.actorName}</bdi>{' '}
        </>
      )}
      on {dayInYear(madeMs, Date.now())}. {counted(token.enrolledDevices, 'device')} came with it.
    </span>
  )
}

/** The pending certificates of one device, from the query of the page that lists all pending certificates. */
function usePendingFacts({ projectId, deviceId }: Pick<Details, 'projectId' | 'deviceId'>) {
  const filter = { text: deviceId }
  return useActionState('projects_QueryPendingCertificates', { projectId, filter, limit: 10 }).data
}

/** Where the accepted devices with the same token came from: other addresses only, or the same network. */
function AddressFacts({ details }: { details: Details }) {
  const group = usePendingFacts(details)?.groups[0]
  const words = [group && newAddressWords(group), group && networkWords(group)].filter(Boolean).join(' ')
  return words === '' ? null : <span className={`help ${styles.more}`}>{words}</span>
}

/** Names another device of the project with the same host name, which may be the same machine with a new identity. */
function TwinFacts({ details, certificateId }: { details: Details; certificateId: string }) {
  const twin = usePendingFacts(details)?.certificates.find(
    one => one.certificateId === certificateId,
  )?.sameHostname
  if (!twin) return null
  return (
    <span className={`help ${styles.more}`}>
      Another device has this host name:{' '}
      <Link
        from="/org_{$organization}/projects/$projectId"
        to="./devices/$deviceId"
        params={{ deviceId: twin.deviceId }}
      >
        <bdi>{twin.name ?? twin.deviceId}</bdi>
      </Link>
    </span>
  )
}

/** Names another device on which the waiting certificate is accepted, which is why it may wait. */
function OwnerFacts({ certificate: { sharedWith = [] } }: { certificate: Certificate }) {
  const owner = sharedWith.find(({ status }) => status === 'Active')
  if (!owner) return null
  return (
    <Fact label="Certificate">
      <span>
        Accepted on{' '}
        <Link
          from="/org_{$organization}/projects/$projectId"
          to="./devices/$deviceId"
          params={{ deviceId: owner.deviceId }}
        >
          <bdi>{owner.name ?? owner.hostname ?? owner.deviceId}</bdi>
        </Link>
      </span>
      <span className={`help ${styles.more}`}>Two devices with one certificate can act as each other.</span>
    </Fact>
  )
}
