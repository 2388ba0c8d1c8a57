import type { ErrorKind } from '@muster/actions'
import type { LinkEnd } from '@muster/link'

/** Why a connection of a device or a command line was refused. Metrics have one label value for each. */
export type RefusalReason =
  | 'address_rate'
  | 'certificate_expired'
  | 'certificate_invalid'
  | 'certificate_missing'
  | 'certificate_pending'
  | 'certificate_rejected'
  | 'certificate_revoked'
  | 'descriptors'
  | 'disconnected'
  | 'fingerprint'
  | 'internal'
  | 'limit'
  | 'malformed'
  | 'overload'
  | 'stopping'
  | 'token'
  | 'token_expired'

/** A batch of telemetry that was committed. */
export type StoredBatch = {
  kind: 'events' | 'properties'
  rows: number
  /** Time from the arrival of the oldest row to the commit, in milliseconds. */
  lagMs: number
}

/** Connections through the hub to ports of devices, which were opened by people on this node. */
export type ForwardCounts = { open: number; toDeviceBytes: number; fromDeviceBytes: number }

/**
 * Receives what the hub counts for operators. It exists only while the operator listener is on; otherwise nothing is counted. Each method
 * is called once per connection, call or batch, never per event.
 */
export type Measures = {
  readonly forwards: ForwardCounts
  /** A device was admitted. One-shot commands of agents open unregistered connections. */
  connected(isRegistered: boolean): void
  disconnected(end: LinkEnd['kind']): void
  refused(reason: RefusalReason): void
  /** An action ended. `name` is one of the registry. */
  ran(name: string, durationMs: number, error: ErrorKind | undefined): void
  stored(batch: StoredBatch): void
  lookedUp(durationMs: number): void
  limitHit(limit: string): void
}
