import type { Actor } from '@muster/actions/client'
import { CircleUser, Cog, Cpu, KeyRound, Server, UserRound } from 'lucide-react'
import { Badge } from '../../ui/Badge.tsx'
import { Id } from '../../ui/Id.tsx'
import type { IconType } from '../../ui/icon.ts'

const LOOK: Record<Actor['actor'], { icon: IconType; kind: string }> = {
  Anonymous: { icon: CircleUser, kind: 'Anonymous' },
  System: { icon: Cog, kind: 'System' },
  User: { icon: UserRound, kind: 'User' },
  UserToken: { icon: KeyRound, kind: 'User token' },
  Device: { icon: Cpu, kind: 'Device' },
  ClusterNode: { icon: Server, kind: 'Cluster node' },
}

/** Who did it: the kind as an icon, then the name, else the id, else the kind. */
export function ActorChip({ actor, name }: { actor: Actor; name: string | undefined }) {
  const { icon: Icon, kind } = LOOK[actor.actor]
  const id = name === undefined ? idOf(actor) : undefined
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

function idOf(actor: Actor): string | undefined {
  switch (actor.actor) {
    case 'User':
    case 'UserToken':
      return actor.userId
    case 'Device':
      return actor.deviceId
    case 'ClusterNode':
      return actor.nodeId
    default:
      return undefined
  }
}
