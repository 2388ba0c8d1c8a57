import { Link } from '@tanstack/react-router'
import { createContext, useContext } from 'react'
import { formatCount } from '../../../lib/app/format.ts'
import { lookUp } from '../../../lib/app/look-up.ts'
import type { Entry, Subjects } from './entry.ts'
import { type Part, partsOf } from './sentence.ts'
import { subjectLink } from './subject-link.ts'

/** Objects whose ids occur in the entries on screen, by id. `isInstance` is true in the log of the instance. */
export const LogSubjects = createContext<{ subjects: Subjects; isInstance: boolean }>({
  subjects: {},
  isInstance: false,
})

/** Describes entries of one action that differ in one subject: the field that holds the subject's id, and the number of subjects. */
export type Several = { field: string; count: number }

/** The sentence of an entry: actor, verb, subject. Names are isolated with `bdi`, because they may be written from right to left. */
export function Sentence({ entry, several }: { entry: Entry; several?: Several | undefined }) {
  return (
    <>
      <Actor entry={entry} />{' '}
      {partsOf(entry).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their position
        <SentencePart key={index} part={part} several={several} />
      ))}
    </>
  )
}

function SentencePart({ part, several }: { part: Part; several: Several | undefined }) {
  switch (part.kind) {
    case 'text':
      return part.text
    case 'value':
      return (
        <bdi>
          <b>{part.text}</b>
        </bdi>
      )
    case 'code':
      return (
        <code>
          <bdi>{part.text}</bdi>
        </code>
      )
    case 'subject':
      return several?.field === part.field ? (
        <b>{`${formatCount(several.count)} ${lookUp(PLURALS, part.field, 'things')}`}</b>
      ) : (
        <SubjectName id={part.id} name={part.name} />
      )
  }
}

const PLURALS: Record<string, string> = {
  deviceId: 'devices',
  userId: 'people',
  tokenId: 'tokens',
  projectId: 'projects',
  repositoryId: 'repositories',
  packageId: 'packages',
  versionId: 'versions',
}

/** Name of an object, as a link while the object exists. `name` replaces its current name. */
function SubjectName({ id, name }: { id: string; name?: string | undefined }) {
  const { subjects, isInstance } = useContext(LogSubjects)
  const { label, to, search } = subjectLink(id, subjects, isInstance)
  const text = <bdi title={id}>{name ?? label}</bdi>
  return to === undefined ? (
    <b className={label === id ? 'mono' : undefined}>{text}</b>
  ) : (
    <Link to={to} {...(search && { search })}>
      {text}
    </Link>
  )
}

/** Name of an entry's actor: a person, a user token of a person, a device or the hub. */
function Actor({ entry: { actor, actorName, tokenName } }: { entry: Entry }) {
  switch (actor.actor) {
    case 'User':
      return <Name name={actorName} id={actor.userId} />
    case 'UserToken':
      return (
        <>
          <Name name={tokenName} id={actor.tokenId} />, a token of <Name name={actorName} id={actor.userId} />
          ,
        </>
      )
    case 'Device':
      return <SubjectName id={actor.deviceId} />
    case 'ClusterNode':
      return <Name name={actorName} id={actor.nodeId} />
    case 'System':
      return 'The hub'
    case 'Anonymous':
      return 'Somebody'
    default:
      return <b>{(actor as { actor: string }).actor}</b>
  }
}

function Name({ name, id }: { name: string | undefined; id: string }) {
  return (
    <bdi title={id}>
      <b className={name === undefined ? 'mono' : undefined}>{name ?? id}</b>
    </bdi>
  )
}
