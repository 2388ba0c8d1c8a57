import type { Actor } from '@muster/actions'

/** The actor of an action, with fields that only the hub knows, such as rights and session. */
export type Caller =
  | { actor: 'Anonymous' }
  | { actor: 'System' }
  | { actor: 'User'; userId: string; isAdmin: boolean; sessionId: string; signedInAt: Date }
  | {
      actor: 'UserToken'
      userId: string
      tokenId: string
      isAdmin: boolean
      /** True for a token that was made before the limits of links and streams. Beyond them, it is warned about and not refused. */
      predatesShares?: boolean
    }
  | {
      actor: 'Device'
      deviceId: string
      tokenId: string
      projectId: string
      organizationId: string
      /** Certificate of the connection; absent while the device is being enrolled. */
      certificateId?: string
    }
  | { actor: 'ClusterNode'; nodeId: string }

/** Caller without valid credentials. */
export const ANONYMOUS: Caller = { actor: 'Anonymous' }
/** The hub itself as a caller. */
export const SYSTEM: Caller = { actor: 'System' }

/** Converts a caller to the form that the API and the audit log use. */
export function wireActor(caller: Caller): Actor {
  switch (caller.actor) {
    case 'Anonymous':
    case 'System':
      return { actor: caller.actor }
    case 'User':
      return { actor: 'User', userId: caller.userId } as Actor
    case 'UserToken':
      return { actor: 'UserToken', userId: caller.userId, tokenId: caller.tokenId } as Actor
    case 'Device':
      return { actor: 'Device', deviceId: caller.deviceId, tokenId: caller.tokenId } as Actor
    case 'ClusterNode':
      return { actor: 'ClusterNode', nodeId: caller.nodeId } as Actor
  }
}

/** Id under which the audit log lists an actor's actions; null for actors without an id. */
export function actorId(caller: Caller): string | null {
  switch (caller.actor) {
    case 'User':
    case 'UserToken':
      return caller.userId
    case 'Device':
      return caller.deviceId
    case 'ClusterNode':
      return caller.nodeId
    default:
      return null
  }
}

/** A signed-in person, by session or by user token. */
export type PersonCaller = Caller & { actor: 'User' | 'UserToken' }

/** A device that runs actions. */
export type DeviceCaller = Caller & { actor: 'Device' }

/** Narrows a caller to a person, signed in or with a user token; undefined for other callers. */
export function personOf(caller: Caller): PersonCaller | undefined {
  return caller.actor === 'User' || caller.actor === 'UserToken' ? caller : undefined
}

/** Id of the session or user token of a person. */
export function credentialId(person: PersonCaller): string {
  return person.actor === 'User' ? person.sessionId : person.tokenId
}
