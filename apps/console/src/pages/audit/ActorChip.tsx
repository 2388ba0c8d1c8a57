import type { Actor } from '@muster/actions/client'
import { Badge } from '../../ui/app/Badge.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { actorIdOf, actorLook } from './actors.ts'

type ActorChipProps = {
  actor: Actor
  name: string | undefined
  /** Name of the user token that was used, if the token still exists. */
  tokenName?: string | undefined
}

/** Actor of an audit row, with the name or id of the user token below it. */
export function ActorChip({ actor, name, tokenName }: ActorChipProps) {
  if (actor.actor !== 'UserToken') return <Who actor={actor} name={name} />
  return (
    <div className="pair">
      <Who actor={actor} name={name} />
      {tokenName === undefined ? (
        <Id id={actor.tokenId} what="token id" wrap />
      ) : (
        <span className="muted trunc" title={tokenName}>
          {tokenName}
        </span>
      )}
    </div>
  )
}

/** Icon of the actor's kind, then the actor's name. If the name is unknown, shows the actor's id, or else the kind as text. */
function Who({ actor, name }: { actor: Actor; name: string | undefined }) {
  const { icon: Icon, kind } = actorLook(actor)
  const id = name === undefined ? actorIdOf(actor) : undefined
  if (id !== undefined) {
    return (
      <span className="row" style={{ gap: 5, minWidth: 0 }}>
        <Icon className="i i-14 muted" aria-hidden />
        <span className="sr">{kind} </span>
        <Id id={id} what="actor id" wrap />
      </span>
    )
  }
  return (
    <Badge icon={Icon}>
      {name !== undefined && <span className="sr">{kind} </span>}
      <span className="trunc">{name ?? kind}</span>
    </Badge>
  )
}
