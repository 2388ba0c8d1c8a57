import type { Actor } from '@muster/actions/client'
import { CircleQuestionMark, CircleUser, Cog, Cpu, KeyRound, Server, UserRound } from 'lucide-react'
import { lookUp } from '../../lib/app/look-up.ts'
import type { IconType } from '../../ui/icon.ts'

/** Icon and words for a kind of actors. */
type ActorLook = { icon: IconType; kind: string }

const LOOKS: Record<Actor['actor'], ActorLook> = {
  Anonymous: { icon: CircleUser, kind: 'Anonymous' },
  System: { icon: Cog, kind: 'System' },
  User: { icon: UserRound, kind: 'User' },
  UserToken: { icon: KeyRound, kind: 'User token' },
  Device: { icon: Cpu, kind: 'Device' },
  ClusterNode: { icon: Server, kind: 'Cluster node' },
}

/** Icon and words for the kind of an actor; a question mark for a kind that this console does not know. */
export function actorLook({ actor }: Actor): ActorLook {
  return lookUp(LOOKS, actor, { icon: CircleQuestionMark, kind: actor })
}

/** Id by which a log is filtered for an actor: the id of the person, device or node. */
export function actorIdOf(actor: Actor): string | undefined {
  if ('userId' in actor) return actor.userId
  if ('deviceId' in actor) return actor.deviceId
  return 'nodeId' in actor ? actor.nodeId : undefined
}
