import { Check } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useDeviceUrl } from '../../../api/config.ts'
import { useNow } from '../../../lib/app/clock.ts'
import { counted, formatDuration } from '../../../lib/app/format.ts'
import { clockTime } from '../../../lib/app/local-time.ts'
import { Button } from '../../../ui/Button.tsx'
import shared from './enrolment.module.css'
import type { Kind } from './kinds.ts'
import { type Enrolment, useWaitingToken } from './use-enrolment.ts'
import styles from './WaitingPanel.module.css'

type WaitingPanelProps = {
  projectId: string
  kind: Kind
  enrolment: Enrolment | undefined
  /** Forgets the token, so that the person can create another one. */
  onOtherToken: () => void
}

/** The place where the device will appear. With a token it says what happened so far, and why the hub refused a device. */
export function WaitingPanel({ enrolment, ...rest }: WaitingPanelProps) {
  return (
    <aside className={`sheet ${styles.panel}`} aria-label="Waiting for the device">
      <div className={`${shared.place} ${enrolment ? shared.awaited : ''}`} aria-hidden="true">
        <b className={shared.absent} />
      </div>
      {enrolment ? (
        <Waiting {...rest} enrolment={enrolment} />
      ) : (
        <>
          <h3>Your device appears here</h3>
          <p className="secondary">
            Create a token first. Then this page waits and says so when the device connects.
          </p>
        </>
      )}
    </aside>
  )
}

function Waiting({ projectId, kind, enrolment, onOtherToken }: WaitingPanelProps & { enrolment: Enrolment }) {
  const token = useWaitingToken(projectId, enrolment.tokenId)
  const refusal = token?.lastRefusal
  const nowMs = useNow()
  const expiresAt = token?.limits.expiresAt
  const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= nowMs
  return (
    <>
      <div role="status">
        <h3 className={`live ${styles.waiting}`}>
          <i aria-hidden="true" />
          Waiting for the device to connect…
        </h3>
      </div>
      <ol className={shared.steps}>
        <li data-state="done">
          <Check className="icon small-icon" aria-hidden />
          <span>Token created</span>
          {token && <time dateTime={token.createdAt}>{clockTime(Date.parse(token.createdAt))}</time>}
        </li>
        {refusal ? (
          <li data-state="refused">
            <span className={styles.dot} aria-hidden="true" />
            <span role="alert">
              Refused {counted(refusal.count, 'time')}: {refusal.reason.slice(0, LONGEST_REASON)}
            </span>
            <time dateTime={refusal.at}>{clockTime(Date.parse(refusal.at))}</time>
          </li>
        ) : (
          <li data-state="now">
            <span className={styles.dot} aria-hidden="true" />
            <span>Device connects</span>
            <WaitedTime />
          </li>
        )}
        <li>
          <span className={styles.dot} aria-hidden="true" />
          <span>
            {enrolment.choices.flags?.autoAccept
              ? 'Certificate accepted, by auto-accept'
              : 'Certificate accepted, by you'}
          </span>
        </li>
        <li>
          <span className={styles.dot} aria-hidden="true" />
          <span>First system info</span>
        </li>
      </ol>
      {isExpired && (
        <div className={styles.hint}>
          <p>This token has expired. It lets no new device in.</p>
          <Button size="sm" onClick={onOtherToken}>
            Create another token
          </Button>
        </div>
      )}
      <Hints kind={kind} />
    </>
  )
}

/** Maximum length of a refusal's reason that is shown, in characters. */
const LONGEST_REASON = 300

function Hints({ kind }: { kind: Kind }) {
  const { protocol, hostname, port } = new URL(useDeviceUrl())
  const unit = { linux: 'muster-agent', public: 'nexigon-agent', here: undefined, simulated: undefined }[kind]
  return (
    <div className={styles.hint}>
      <h4>Nothing after two minutes?</h4>
      <ul>
        <li>
          The device must reach{' '}
          <span className="mono">
            {hostname}:{port || (protocol === 'https:' ? 443 : 80)}
          </span>
          .
        </li>
        <li>
          {unit ? (
            <>
              On the device, <span className="mono">journalctl -u {unit}</span> says why.
            </>
          ) : (
            'The agent says why in its terminal.'
          )}
        </li>
        <li>A refused device shows up here, with the reason.</li>
      </ul>
    </div>
  )
}

/** Time since the token was created, by the clock of this browser. Screen readers do not announce each second. */
function WaitedTime() {
  const [startedAt] = useState(() => Date.now())
  const [now, setNow] = useState(startedAt)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <span className="tabular muted" aria-hidden="true">
      {formatDuration((now - startedAt) / 1000)}
    </span>
  )
}
