import type { Actor } from '@muster/actions/client'
import { CircleUser, Cog, Cpu, KeyRound, Server, UserRound } from 'lucide-react'
import { Badge } from '../../ui/Badge.tsx'
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
  const { icon, kind } = LOOK[actor.actor]
  const shown = name ?? idOf(actor)
  return (
    <Badge icon={icon}>
      {shown !== undefined && <span className="sr">{kind} </span>}
      <span className="trunc">{shown ?? kind}</span>
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
