import type { Actor } from '@muster/actions/client'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Id } from '../../../ui/app/Id.tsx'
import { actorIdOf, actorLook } from '../actors.ts'

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
        <span className="muted truncated" title={tokenName}>
          {tokenName}
        </span>
      )}
    </div>
  )
}

/** Icon of the actor's kind, then the actor's name, or words for an actor without a name. The id is the tooltip. */
function Who({ actor, name }: { actor: Actor; name: string | undefined }) {
  const { icon: Icon, kind } = actorLook(actor)
  const words = 'userId' in actor ? 'A deleted account' : kind
  return (
    <Badge icon={Icon}>
      {name !== undefined && <span className="visually-hidden">{kind} </span>}
      <span className="truncated" title={actorIdOf(actor)}>
        {name ?? words}
      </span>
    </Badge>
  )
}
