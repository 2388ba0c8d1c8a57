import { ActionError, type ErrorKind } from '@muster/actions'

/** A connection that is not let in: status and reason for the peer, and whom it concerns for the log and the console. */
export class Refusal extends ActionError {
  readonly tokenId: string | undefined
  readonly deviceId: string | undefined
  readonly place: { organizationId: string; projectId: string } | undefined

  constructor(
    status: number,
    kind: ErrorKind,
    message: string,
    about: {
      tokenId?: string
      deviceId?: string
      place?: { organizationId: string; projectId: string }
    } = {},
  ) {
    super(kind, message, { status })
    this.tokenId = about.tokenId
    this.deviceId = about.deviceId
    this.place = about.place
  }
}
