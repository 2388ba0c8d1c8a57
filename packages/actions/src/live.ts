/** Kinds of changes; a client maps each to the queries that it shows. */
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
 * A notice of the live stream (`GET /api/v1/live`, server-sent events of type `changes` whose data is a list of
 * these). It contains no data: the client queries the new state through an action.
 */
export type LiveChange = {
  topic: LiveTopic
  organizationId: string
  projectId?: string
  /** Absent when so many devices of the project changed that they are not listed. */
  deviceId?: string
  repositoryId?: string
}
