import { Link } from '@tanstack/react-router'
import { createContext, useContext } from 'react'
import { formatCount } from '../../../lib/app/format.ts'
import { lookUp } from '../../../lib/app/look-up.ts'
import type { Entry, Subjects } from '../shared/entry.ts'
import { type Part, partsOf } from './sentence.ts'
import { subjectLink, withoutNoun } from './subject-link.ts'

/** Objects whose ids occur in the entries on screen, by id. `isInstance` is true in the log of the instance. */
export const LogSubjects = createContext<{ subjects: Subjects; isInstance: boolean }>({
  subjects: {},
  isInstance: false,
})

/**
 * For one sentence about several entries of an action that differ in one subject only, such as the device: the field that holds the
 * subject's id, and the number of subjects.
 */
export type Several = { field: string; count: number }

/** The sentence of an entry: actor, verb, subject. Names are isolated with `bdi`, because they may be written from right to left. */
export function Sentence({ entry, several }: { entry: Entry; several?: Several | undefined }) {
  const { subjects, isInstance } = useContext(LogSubjects)
  const parts = partsOf(entry)
  const isNoun = (part: Part | undefined) =>
    part?.kind === 'subject' && part.name === undefined && subjectLink(part.id, subjects, isInstance).isNoun
  return (
    <>
      <Actor entry={entry} />{' '}
      {parts.map((part, index) => (
        <SentencePart
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their position
          key={index}
          part={
            part.kind === 'text' && isNoun(parts[index + 1])
              ? { ...part, text: withoutNoun(part.text) }
              : part
          }
          several={several}
        />
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

type SubjectNameProps = { id: string; name?: string | undefined; isFirst?: boolean }

/** Name of an object, as a link while the object exists. `name` replaces its current name. `isFirst` is true at the start of a sentence. */
function SubjectName({ id, name, isFirst = false }: SubjectNameProps) {
  const { subjects, isInstance } = useContext(LogSubjects)
  const { label, isNoun, to, search } = subjectLink(id, subjects, isInstance)
  if (isNoun && name === undefined) return <Noun id={id} text={isFirst ? capitalized(label) : label} />
  const text = <bdi title={id}>{name ?? label}</bdi>
  return to === undefined ? (
    <b className={label === id ? 'mono' : undefined}>{text}</b>
  ) : (
    <Link to={to} {...(search && { search })}>
      {text}
    </Link>
  )
}

/** Words for an object without a name, with its id as a tooltip. */
function Noun({ id, text }: { id: string; text: string }) {
  return <span title={id}>{text}</span>
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Name of an entry's actor: a person, a user token of a person, a device or the hub. */
function Actor({ entry: { actor, actorName, tokenName } }: { entry: Entry }) {
  switch (actor.actor) {
    case 'User':
      return <Name name={actorName} id={actor.userId} isFirst />
    case 'UserToken':
      return (
        <>
          <TokenOf name={tokenName} id={actor.tokenId} /> <Name name={actorName} id={actor.userId} />,
        </>
      )
    case 'Device':
      return <SubjectName id={actor.deviceId} isFirst />
    case 'ClusterNode':
      return actorName === undefined ? (
        <Noun id={actor.nodeId} text="A former node of the hub" />
      ) : (
        <Name name={actorName} id={actor.nodeId} />
      )
    case 'System':
      return 'The hub'
    case 'Anonymous':
      return 'Somebody'
    default:
      return <b>{(actor as { actor: string }).actor}</b>
  }
}

/** "ci-release, a token of", or "A token of" for a token without a name. */
function TokenOf({ name, id }: { name: string | undefined; id: string }) {
  const { subjects } = useContext(LogSubjects)
  const token = lookUp<Subjects[string] | undefined>(subjects, id, undefined)
  const named = name ?? token?.name
  if (named !== undefined)
    return (
      <>
        <Name name={named} id={id} />, a token of
      </>
    )
  return (
    <>
      <Noun id={id} text={token?.isDeleted ? 'A deleted token' : 'A token'} /> of
    </>
  )
}

/** `name` of a person or token in bold. Without `name`, the known name of the object with this id, or words such as "a deleted account". */
function Name({ name, id, isFirst }: { name: string | undefined; id: string; isFirst?: boolean }) {
  if (name === undefined) return <SubjectName id={id} {...(isFirst && { isFirst })} />
  return (
    <bdi title={id}>
      <b>{name}</b>
    </bdi>
  )
}
