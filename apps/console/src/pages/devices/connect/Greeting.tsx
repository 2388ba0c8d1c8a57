import type { ActionOutput } from '@muster/actions/client'
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowRight, Check } from 'lucide-react'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { actionQuery, useActionState } from '../../../api/queries.ts'
import { counted, formatBytes, formatDuration } from '../../../lib/app/format.ts'
import { clockTime, dayInYear } from '../../../lib/app/local-time.ts'
import { Mark } from '../../../ui/app/Mark.tsx'
import { toast } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import { messageOf } from '../../../ui/ErrorText.tsx'
import { LinkButton } from '../../../ui/LinkButton.tsx'
import { Fact, FactList } from '../../../ui/lazy/FactList.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { PendingBox } from '../detail/PendingBox.tsx'
import { SYSTEM_INFO_NAMES } from '../detail/property-names.ts'
import { foundProperties, readSystemInfo } from '../detail/well-known.ts'
import next from '../next-steps.module.css'
import { useRename } from '../use-rename.ts'
import shared from './enrolment.module.css'
import styles from './Greeting.module.css'
import { type Enrolment, useWaitingToken } from './use-enrolment.ts'

type GreetingProps = {
  titleId: string
  projectId: string
  deviceId: string
  enrolment: Enrolment
  /** Waits for the next device with the same token. */
  onNext: () => void
  onDone: () => void
}

type Details = ActionOutput<'devices_GetDetails'>

/** Greets the connected device: its facts, what the hub did, a field for its name, and the next steps. */
export function Greeting({ titleId, projectId, deviceId, enrolment, onNext, onDone }: GreetingProps) {
  const details = useActionState('devices_GetDetails', { deviceId }).data
  const token = useWaitingToken(projectId, enrolment.tokenId)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const isPending = details?.certificates.some(({ status }) => status === 'Active') === false
  const isBack = enrolment.before.has(deviceId)
  const name = details?.name ?? details?.hostname ?? 'A device'
  return (
    <>
      <div className={`sheet bleed ${styles.greeting}`}>
        <div className={styles.head}>
          <div className={shared.place} aria-hidden="true">
            <b className={isPending ? shared.absent : shared.present} />
          </div>
          <div className="grow">
            {details && <Connected details={details} isPending={isPending} tokenAt={token?.createdAt} />}
            <h2 id={titleId} ref={heading} tabIndex={-1} aria-live="polite">
              {isPending ? `${name} waits for approval` : isBack ? `${name} is back` : `${name} is here`}
            </h2>
          </div>
        </div>
        {details && (
          <>
            {isPending && <PendingBox details={details} />}
            {!isPending && <Facts details={details} />}
            <Progress details={details} enrolment={enrolment} />
            {!isPending && <NameForm deviceId={deviceId} hostname={details.hostname} />}
          </>
        )}
        <div className={`wrap ${styles.actions}`}>
          <Others count={token && token.enrolledDevices - 1} />
          <span className="grow" />
          <Button onClick={onDone}>Show devices</Button>
          <LinkButton
            variant="primary"
            from="/org_{$organization}/projects/$projectId"
            to="./devices/$deviceId"
            params={{ deviceId }}
          >
            Open the device
          </LinkButton>
        </div>
      </div>
      <ul className={`sheet ${next.steps}`} aria-label="What next">
        <li>
          <button type="button" onClick={onNext}>
            Connect the next one
            <ArrowRight className="icon small-icon" aria-hidden />
          </button>
          <p className="help">
            The same token and command work for more devices
            {enrolment.choices.limits?.expiresAt &&
              `, until ${dayInYear(Date.parse(enrolment.choices.limits.expiresAt), Date.now())}`}
            .
          </p>
        </li>
        <li>
          <Link from="/org_{$organization}/projects/$projectId" to="./repositories">
            Send it updates
            <ArrowRight className="icon small-icon" aria-hidden />
          </Link>
          <p className="help">Link a repository, then name the package and the tag that it follows.</p>
        </li>
        <li>
          <Link from="/org_{$organization}/projects/$projectId" to="../../settings/members">
            Invite a colleague
            <ArrowRight className="icon small-icon" aria-hidden />
          </Link>
          <p className="help">Members of the organization see its devices.</p>
        </li>
      </ul>
    </>
  )
}

type ConnectedProps = { details: Details; isPending: boolean; tokenAt: string | undefined }

/** The state of the connection, and how long it took from the token to the first sight of the device. */
function Connected({ details: { isConnected, firstSeen }, isPending, tokenAt }: ConnectedProps) {
  const seenMs = Date.parse(firstSeen)
  const secs = tokenAt === undefined ? 0 : (seenMs - Date.parse(tokenAt)) / 1000
  return (
    <p className="secondary">
      <Mark state={isPending ? 'pending' : isConnected ? 'on' : 'off'}>
        <span>
          {isConnected ? 'Connected' : 'Disconnected'}. First seen at{' '}
          <time dateTime={firstSeen}>{clockTime(seenMs)}</time>
          {secs >= 1 && `, ${formatDuration(secs)} after you made the token`}
        </span>
      </Mark>
    </p>
  )
}

function useSystemInfo(deviceId: string) {
  const answers = useQueries({
    queries: SYSTEM_INFO_NAMES.map(name => actionQuery('devices_GetProperty', { deviceId, name })),
  }).flatMap(({ data }) => data ?? [])
  const info = readSystemInfo(foundProperties(answers))
  return info === 'unreadable' ? undefined : info
}

function Facts({ details: { deviceId } }: { details: Details }) {
  const info = useSystemInfo(deviceId)
  if (!info) return <p className="secondary">Its first system information comes in a moment.</p>
  const facts: [label: string, value: string | undefined][] = [
    ['Hostname', info.hostname],
    ['Name', info.name],
    ['Version', info.version],
    ['Architecture', info.arch],
    ['Memory', info.memoryBytes === undefined ? undefined : formatBytes(info.memoryBytes)],
    ['Agent', info.agent],
  ]
  return (
    <FactList columns={6}>
      {facts.map(([label, value]) => (
        <Fact key={label} label={label}>
          {value ?? '–'}
        </Fact>
      ))}
    </FactList>
  )
}

/** Steps of the enrolment: token presented, certificate accepted, system information received. */
function Progress({ details, enrolment }: { details: Details; enrolment: Enrolment }) {
  const info = useSystemInfo(details.deviceId)
  const certificate = details.certificates.find(({ tokenId }) => tokenId === enrolment.tokenId)
  return (
    <ol className={`${shared.steps} ${styles.progress}`}>
      {certificate && (
        <>
          <Done at={certificate.firstSeen}>
            Token <bdi>{enrolment.choices.name}</bdi> received from{' '}
            <span className="mono">{certificate.remoteAddress ?? 'an address that was not recorded'}</span>
          </Done>
          {certificate.status === 'Active' && (
            <Done at={certificate.firstSeen}>
              Certificate{' '}
              <span className="mono">
                {certificate.fingerprint.slice(0, 8)}…{certificate.fingerprint.slice(-5)}
              </span>{' '}
              accepted{enrolment.choices.flags?.autoAccept ? ', by auto-accept' : ''}
            </Done>
          )}
        </>
      )}
      {info && <Done at={info.lastUpdated}>System info received</Done>}
    </ol>
  )
}

function Done({ at, children }: { at: string; children: ReactNode }) {
  return (
    <li data-state="done">
      <Check className="icon small-icon" aria-hidden />
      <span>{children}</span>
      <time dateTime={at}>{clockTime(Date.parse(at))}</time>
    </li>
  )
}

function Others({ count }: { count: number | undefined }) {
  if (!count || count < 1) return null
  return <span className="secondary">{counted(count, 'more device')} came with the same token.</span>
}

function NameForm({ deviceId, hostname }: { deviceId: string; hostname: string | undefined }) {
  const [typed, setTyped] = useState<string>()
  const name = typed ?? hostname ?? ''
  const rename = useRename()
  async function save(event: FormEvent) {
    event.preventDefault()
    if (rename.isPending) return
    try {
      await rename.mutateAsync({ deviceId, name: name.trim() })
      toast(`Device renamed to ${name.trim()}.`)
    } catch {
      // The field shows the error.
    }
  }
  return (
    <form className={styles.name} onSubmit={save}>
      <TextField
        label="Give it a name"
        required
        value={name}
        onChange={value => {
          setTyped(value)
          rename.reset()
        }}
        error={rename.error ? messageOf(rename.error) : undefined}
      />
      <Button type="submit" disabled={name.trim() === ''} busy={rename.isPending} busyLabel="Saving…">
        Save
      </Button>
    </form>
  )
}
