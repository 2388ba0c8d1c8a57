/** What changed, in words that a client can map to the queries it shows. */
export type LiveTopic =
  | 'organizations'
  | 'members'
  | 'invitations'
  | 'projects'
  | 'tokens'
  | 'devices'
  | 'certificates'
  | 'connections'
  | 'properties'
  | 'events'
  | 'repositories'
  | 'packages'
  | 'links'

/**
 * One notice of the live stream (`GET /api/v1/live`, server-sent events of type `changes` whose data is a list of these).
 * It says that something changed, never what it is now: the client asks again through an action.
 */
export type LiveChange = {
  topic: LiveTopic
  organizationId: string
  projectId?: string
  /** Absent when more devices of the project changed than are worth naming. */
  deviceId?: string
  repositoryId?: string
}
