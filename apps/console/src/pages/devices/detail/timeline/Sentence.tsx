import type { AuditEvents } from '@muster/actions/client'
import type { ReactNode } from 'react'
import { lookUp } from '../../../../lib/app/look-up.ts'
import { durationInWords, inWords } from '../../../../lib/app/relative-time.ts'
import { nameOf } from '../../shared/actor-name.ts'
import { cut, LONGEST_TEXT } from '../cut.ts'
import type { Entry, EntryOf } from './entry.ts'
import { ShortValue } from './ShortValue.tsx'
import { changedMembers, healthChangeOf, updateChangeOf, updateDuration } from './update-change.ts'

/** Text that describes a timeline entry, such as "Connected to node-1 after 5 min", without a period at its end. */
export function Sentence({ entry }: { entry: Entry }): ReactNode {
  switch (entry.type) {
    case 'event':
      return (
        <>
          <EventText body={entry.body} />
          <WrongClock errorSecs={entry.clockErrorSecs} />
        </>
      )
    case 'connected':
      return (
        <>
          Connected to <Node entry={entry} />
          {entry.offlineSecs ? ` after ${durationInWords(entry.offlineSecs)}` : ''}
        </>
      )
    case 'disconnected':
      return (
        <>
          Connection to <Node entry={entry} /> {lookUp(END_WORDS, entry.endReason, 'ended')} after{' '}
          {durationInWords(entry.connectedSecs)}
        </>
      )
    case 'property':
      return <PropertyText entry={entry} />
    case 'audit':
      return <AuditText entry={entry} />
    case 'tag':
      return <TagText entry={entry} />
  }
}

const END_WORDS = {
  Unknown: 'ended',
  Disconnected: 'ended',
  NodeCrashed: 'ended when the node crashed,',
  ServerShutdown: 'was ended by the hub',
}

function Node({ entry: { nodeName, nodeId } }: { entry: EntryOf<'connected' | 'disconnected'> }) {
  return <bdi className="mono">{nodeName ?? nodeId}</bdi>
}

/** The body of an event on one line: its message if it has one, else its JSON. Both are truncated. */
export function EventText({ body }: { body: unknown }) {
  const message = typeof body === 'string' ? body : messageIn(body)
  if (message === undefined) return <ShortValue value={body} chars={LONGEST_TEXT} />
  return <bdi>{cut(message.trim() || 'An event without text')}</bdi>
}

/** Note behind an event whose device had a wrong clock: " · device clock wrong by 5 years". */
export function WrongClock({ errorSecs }: { errorSecs: number | undefined }) {
  if (errorSecs === undefined) return null
  return <span className="muted"> · device clock wrong by {inWords(Math.abs(errorSecs))}</span>
}

/** The text in bodies like `{"message": …}`, which programs often write. */
function messageIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { message, msg } = body as { message?: unknown; msg?: unknown }
  return [message, msg].find((text): text is string => typeof text === 'string' && text.trim() !== '')
}

function PropertyText({ entry }: { entry: EntryOf<'property'> }) {
  const isByPerson = entry.kind === 'person'
  const update = isByPerson ? undefined : updateChangeOf(entry)
  if (update && update.what !== 'other') {
    const duration = updateDuration(update, entry)
    const version = cut(update.version ?? 'an unknown version')
    if (update.what === 'begun')
      return <bdi>{`Installing ${version}${update.attempt ? `, attempt ${update.attempt}` : ''}`}</bdi>
    if (update.what === 'installed')
      return <bdi>{`${version} installed${duration ? ` in ${duration}` : ''}`}</bdi>
    const after = duration ? ` after ${duration}` : ''
    const attempt = update.attempt ? `, attempt ${update.attempt}` : ''
    const error = update.error === undefined ? '' : `: ${cut(update.error)}`
    return <bdi>{`Update to ${version} failed${after}${attempt}${error}`}</bdi>
  }
  const health = isByPerson ? undefined : healthChangeOf(entry)
  if (health)
    return (
      <bdi>
        {health.from === undefined || health.from === health.to
          ? `Health is ${cut(health.to)}`
          : `Health went from ${cut(health.from)} to ${cut(health.to)}`}
      </bdi>
    )
  return (
    <>
      {isByPerson && <Who entry={entry} />}
      <ChangeText entry={entry} isByPerson={isByPerson} />
    </>
  )
}

function ChangeText({ entry, isByPerson }: { entry: EntryOf<'property'>; isByPerson: boolean }) {
  const { now, before } = entry
  const name = <bdi className="mono">{entry.name}</bdi>
  if (now.isRemoved) return isByPerson ? <>removed {name}</> : <>{name} was removed</>
  if (!before || before.isRemoved)
    return (
      <>
        {isByPerson ? <>set {name}</> : <>{name} was set</>} to{' '}
        <ShortValue value={now.value} isCut={now.isCut} />
      </>
    )
  const [member] = changedMembers(entry, 1) ?? []
  if (member)
    return (
      <>
        {isByPerson && 'changed '}
        <bdi className="mono">{member.key}</bdi> of {name} {!isByPerson && 'changed '}from{' '}
        <ShortValue value={member.from} /> to <ShortValue value={member.to} />
      </>
    )
  return (
    <>
      {isByPerson ? <>changed {name}</> : <>{name} changed</>} from{' '}
      <ShortValue value={before.value} isCut={before.isCut} /> to{' '}
      <ShortValue value={now.value} isCut={now.isCut} />
    </>
  )
}

/** Name of the actor at the beginning of a sentence. */
function Who({ entry }: { entry: Pick<EntryOf<'property'>, 'actor' | 'actorName' | 'tokenName'> }) {
  return (
    <>
      <b>
        <bdi>{nameOf(entry)}</bdi>
      </b>{' '}
    </>
  )
}

const CERTIFICATE_WORDS: Record<string, string> = {
  Active: 'accepted a certificate',
  Rejected: 'rejected a certificate',
  Revoked: 'revoked a certificate',
}

function AuditText({ entry }: { entry: EntryOf<'audit'> }) {
  const { event, data } = entry
  const text = (key: string) => {
    const value = data[key]
    return typeof value === 'string' || typeof value === 'number' ? cut(String(value)) : undefined
  }
  if (event === 'limits_Reached') return <bdi>{text('message') ?? 'A limit was reached'}</bdi>
  if (event === 'devices_Created' && entry.actor.actor === 'Device') return 'Enrolled as a new device'
  if (event === 'devices_CertificateAdded' && entry.actor.actor === 'Device')
    return `Came with a new certificate, which is ${text('status') ?? 'unknown'}`
  return (
    <>
      <Who entry={entry} />
      {auditWords(event as keyof AuditEvents, text)}
    </>
  )
}

function auditWords(event: keyof AuditEvents, text: (key: string) => string | undefined): ReactNode {
  const property = <bdi className="mono">{text('propertyName')}</bdi>
  switch (event) {
    case 'devices_Created':
      return 'created the device'
    case 'devices_Deleted':
      return 'deleted the device'
    case 'devices_NameChanged':
      return text('name') === undefined ? (
        'removed the name'
      ) : (
        <>
          renamed the device to <bdi>{text('name')}</bdi>
        </>
      )
    case 'devices_IdentityShared':
      return 'found machines that share the identity of this device'
    case 'devices_PropertySet':
      return <>set {property} again without a change of its value</>
    case 'devices_PropertyRemoved':
      return <>removed {property}</>
    case 'devices_CertificateAdded':
      return 'added a certificate'
    case 'devices_CertificateDeleted':
      return 'deleted a certificate'
    case 'devices_CertificateStatusChanged':
      return lookUp(CERTIFICATE_WORDS, text('status') ?? '', 'changed the state of a certificate')
    case 'devices_PortForwarded':
      return text('hostname') === undefined
        ? `forwarded port ${text('port') ?? '–'} of the device`
        : `opened the HTTP proxy to port ${text('port') ?? '–'}`
    default:
      return (
        <>
          ran <span className="mono">{event}</span>
        </>
      )
  }
}

function TagText({ entry: { path, details } }: { entry: EntryOf<'tag'> }) {
  const tag = <bdi className="mono">{path}</bdi>
  if (!details) return <>The tag {tag} moved</>
  const { from, to } = details
  const nameOfVersion = (version: { versionId: string; name?: string | undefined }) => (
    <bdi>{version.name ?? version.versionId}</bdi>
  )
  return (
    <>
      <Who entry={details} />
      {!to ? (
        <>removed the tag {tag}</>
      ) : from ? (
        <>
          moved the tag {tag} from {nameOfVersion(from)} to {nameOfVersion(to)}
        </>
      ) : (
        <>
          put the tag {tag} on {nameOfVersion(to)}
        </>
      )}
    </>
  )
}
