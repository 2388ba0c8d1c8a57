import { ArrowRight, Link as LinkIcon } from 'lucide-react'
import { type ReactNode, useContext } from 'react'
import { useNow } from '../../lib/app/clock.ts'
import { formatBytes, formatCount } from '../../lib/app/format.ts'
import { clockTime, utcOffset } from '../../lib/app/local-time.ts'
import { relativeTime } from '../../lib/app/relative-time.ts'
import { describeUserAgent } from '../../lib/app/user-agent.ts'
import { Id } from '../../ui/app/Id.tsx'
import { Button } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import shared from '../../ui/lazy/details.module.css'
import { JsonValue } from '../../ui/lazy/JsonValue.tsx'
import { MachineName } from '../../ui/lazy/MachineName.tsx'
import { useCopy } from '../../ui/use-copy.ts'
import { actorIdOf } from './actors.ts'
import type { Group } from './groups.ts'
import styles from './LogDetail.module.css'
import log from './LogTable.module.css'
import { LogSubjects, Sentence } from './sentences/Sentence.tsx'
import { partsOf } from './sentences/sentence.ts'
import { prefixOf, subjectLink } from './sentences/subject-link.ts'
import { type Entry, isFailure, type Sealing } from './shared/entry.ts'
import { exactTimes } from './shared/log-time.ts'
import { shownData } from './shown-data.ts'

/** Maximum number of entries of one action that the details show. */
const MAX_LISTED = 50

type LogDetailProps = { group: Group; sealing: Sealing | undefined }

/** The unfolded details of a row: changed values, raw data, ids, times, actor, and the seal (signed hash) that covers the row. */
export function LogDetail({ group: { entries }, sealing }: LogDetailProps) {
  const [entry] = entries
  const data = shownData(entry.data)
  return (
    <div className={`${shared.details} ${styles.detail}`}>
      <div>
        {entries.length > 1 ? <Listed entries={entries} /> : <Changes entry={entry} />}
        <h3>Entry</h3>
        <dl className={shared.facts}>
          <Line name="ID">
            <Id id={entry.eventId} what="entry id" />
          </Line>
          <Line name="Timestamp">
            <Moment at={entry.createdAt} />
          </Line>
          <Line name="Type">
            <MachineName name={entry.event} />
          </Line>
        </dl>
      </div>
      <div>
        <h3>
          Data <CopyButton text={JSON.stringify(data, null, 2)} label={`Copy data of ${entry.eventId}`} />
        </h3>
        <div className={styles.raw}>
          <JsonValue value={data} open />
        </div>
        <h3>Who and how</h3>
        <dl className={shared.facts}>
          <Who entry={entry} />
          {entry.action && (
            <Line name="Action">
              <Id id={entry.action.actionId} what="action id" />
            </Line>
          )}
          {entry.job && (
            <Line name="Job">
              <Id id={entry.job.jobId} what="job id" />
            </Line>
          )}
          <Line name="Seal">{sealText(entry, sealing)}</Line>
        </dl>
      </div>
      <Ways entry={entry} />
    </div>
  )
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

/** The entries of one action that share a row of the log. */
function Listed({ entries }: { entries: readonly Entry[] }) {
  return (
    <>
      <h3>{formatCount(entries.length)} entries</h3>
      <ol className={styles.entries}>
        {entries.slice(0, MAX_LISTED).map(entry => (
          <li key={entry.eventId}>
            <time dateTime={entry.createdAt}>{clockTime(Date.parse(entry.createdAt))}</time>{' '}
            <span className={log.sentence}>
              <Sentence entry={entry} />
            </span>
          </li>
        ))}
      </ol>
      {entries.length > MAX_LISTED && (
        <p className="muted">And {formatCount(entries.length - MAX_LISTED)} more.</p>
      )}
    </>
  )
}

/** Values before and after a change. Some events do not record the new value, for example changes of properties. */
function Changes({ entry: { event, old, data, reason, status } }: { entry: Entry }) {
  const changes = changesOf(old, data)
  // The event of a deletion has no new values, and the old ones describe the deleted object.
  const isDeletion = /(Deleted|Removed)$/.test(event)
  if (changes.length === 0 && reason === undefined) return null
  return (
    <>
      <h3>{isFailure({ status }) ? 'Why' : 'What changed'}</h3>
      <dl className={shared.facts}>
        {reason !== undefined && (
          <Line name={status ?? 'Reason'}>
            <bdi>{reason}</bdi>
          </Line>
        )}
        {changes.map(({ name, before, after }) => (
          <Line key={name} name={`${wordsOf(name)}${after === undefined && !isDeletion ? ' before' : ''}`}>
            <Value value={before} />
            {after !== undefined && (
              <>
                <span className={styles.arrow}>
                  <ArrowRight className="icon small-icon" aria-hidden />
                  <span className="visually-hidden"> to </span>
                </span>
                <b>
                  <Value value={after} />
                </b>
              </>
            )}
          </Line>
        ))}
      </dl>
    </>
  )
}

type Change = { name: string; before: unknown; after: unknown }

/**
 * Changed fields. If old and new value are objects, such as the limits of a token, each of their fields is a change of its own, and
 * unchanged fields are left out.
 */
function changesOf(old: Entry['old'], data: Entry['data']): Change[] {
  return Object.entries(old ?? {}).flatMap(([name, before]) => {
    const after = data[name]
    if (!isObject(before) || !isObject(after)) return [{ name, before, after }]
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .map(field => ({ name: field, before: before[field] ?? null, after: after[field] ?? null }))
      .filter(change => JSON.stringify(change.before) !== JSON.stringify(change.after))
  })
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field name as words: `displayName` becomes "Display name". */
function wordsOf(field: string): string {
  const words = field.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A value. For a value above 1 KiB, the log stores only length and digest. */
function Value({ value }: { value: unknown }) {
  const { bytes, sha256 } = (value ?? {}) as { bytes?: unknown; sha256?: unknown }
  if (typeof bytes === 'number' && typeof sha256 === 'string')
    return (
      <span title={sha256}>
        {formatBytes(bytes)}, SHA-256 <span className="mono">{sha256.slice(0, 16)}…</span>
      </span>
    )
  if (value === null) return <span className="muted">none</span>
  if (typeof value === 'string') return <bdi>{value}</bdi>
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return <code>{JSON.stringify(value)}</code>
}

function Moment({ at }: { at: string }) {
  const nowMs = useNow()
  const ms = Date.parse(at)
  const { local, utc } = exactTimes(ms)
  const offset = utcOffset(ms)
  const age = relativeTime(ms, nowMs)
  if (offset === 'UTC')
    return (
      <>
        {utc} <span className="muted">UTC, {age}</span>
      </>
    )
  return (
    <>
      {local} <span className="muted">{offset}</span>
      <br />
      <span className="muted">
        {utc} UTC, {age}
      </span>
    </>
  )
}

function Who({ entry: { actor, actorName, tokenName, address, browser } }: { entry: Entry }) {
  const id = actorIdOf(actor)
  const words = browser === undefined ? undefined : (describeUserAgent(browser) ?? browser)
  return (
    <>
      <Line name="Actor">
        {actorName !== undefined && <bdi>{actorName}, </bdi>}
        {actor.actor}
        {id !== undefined && (
          <>
            <br />
            <Id id={id} what="actor id" />
          </>
        )}
      </Line>
      {'tokenId' in actor && (
        <Line name="Token">
          {tokenName !== undefined && (
            <>
              <bdi>{tokenName}</bdi>
              <br />
            </>
          )}
          <Id id={actor.tokenId} what="token id" />
        </Line>
      )}
      {address !== undefined && <Line name="Address">{address}</Line>}
      {words !== undefined && (
        <Line name="Browser">
          <bdi title={browser}>{words}</bdi>
        </Line>
      )}
    </>
  )
}

function sealText({ seal }: Entry, sealing: Sealing | undefined): string {
  if (!seal) return 'Not sealed yet'
  const { verified } = sealing ?? {}
  const state =
    !verified || seal.sealNo > verified.sealNo
      ? verified?.isIntact === false
        ? 'not verified'
        : 'not verified yet'
      : 'intact'
  return `${formatCount(seal.sealNo)} of ${clockTime(Date.parse(seal.sealedAt))}, ${state}`
}

/** Links of an entry: to its subject, to all entries about the subject, to all entries by the actor, and to the entry itself. */
function Ways({ entry }: { entry: Entry }) {
  const { subjects, isInstance } = useContext(LogSubjects)
  const subject = partsOf(entry).find(part => part.kind === 'subject')
  const link = subject?.kind === 'subject' ? subjectLink(subject.id, subjects, isInstance) : undefined
  const isDevice = link?.to !== undefined && subject?.kind === 'subject' && prefixOf(subject.id) === 'd'
  const everything: string = isDevice ? `${link.to}/log` : '.'
  const actorId = actorIdOf(entry.actor)
  const { state, copy } = useCopy(`${location.origin}${location.pathname}?q=${entry.eventId}`)
  return (
    <div className={shared.actions}>
      {link?.to !== undefined && (
        <LinkButton size="sm" to={link.to} {...(link.search && { search: link.search })}>
          <span className="truncated">
            Open <bdi>{link.label}</bdi>
          </span>
        </LinkButton>
      )}
      {subject?.kind === 'subject' && link && (
        <LinkButton
          size="sm"
          to={everything}
          {...(!isDevice && { search: { subject: subject.id } as never })}
        >
          <span className="truncated">
            Everything about <bdi>{link.label}</bdi>
          </span>
        </LinkButton>
      )}
      {actorId !== undefined && (
        <LinkButton size="sm" to="." search={{ actor: actorId }}>
          <span className="truncated">
            Everything by <bdi>{entry.actorName ?? subjectLink(actorId, subjects, isInstance).label}</bdi>
          </span>
        </LinkButton>
      )}
      <Button size="sm" icon={LinkIcon} onClick={() => void copy()}>
        {state === 'copied' ? 'Copied' : 'Copy link'}
      </Button>
    </div>
  )
}
