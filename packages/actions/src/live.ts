/** Kinds of changes in the live stream. A client maps each kind to the queries that it must refetch. */
export type LiveTopic =
  | 'organizations'
  | 'members'
  | 'invitations'
  | 'projects'
  | 'tokens'
  /** Saved views of device lists. */
  | 'views'
  | 'webhooks'
  | 'devices'
  | 'certificates'
  | 'connections'
  | 'properties'
  | 'events'
  /** Operations of devices. */
  | 'operations'
  | 'repositories'
  | 'packages'
  | 'links'
  /** Entries of an audit log. */
  | 'log'

/**
 * A change reported by the live stream: `GET /api/v1/live` sends server-sent events of type `changes`, whose data is a JSON
 * array of changes. A change contains no new values: the client queries them through an action.
 */
export type LiveChange = {
  topic: LiveTopic
  organizationId: string
  projectId?: string
  /** Id of the changed device. Absent if the change is not about one device, or if too many devices changed to list each. */
  deviceId?: string
  repositoryId?: string
}
