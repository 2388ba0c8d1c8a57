import type { ErrorKind } from '@muster/actions'

/** A committed batch of telemetry (events and property values of devices). */
export type StoredBatch = {
  kind: 'events' | 'properties'
  rows: number
  /** Time from the arrival of the oldest row to the commit, in milliseconds. */
  lagMs: number
}

/** Connections through the hub to ports of devices, which were opened by people on this node. */
export type ForwardCounts = { open: number; toDeviceBytes: number; fromDeviceBytes: number }

/**
 * Receives the measurements of the hub for operators. It exists only if the operator listener is on; otherwise nothing is measured. Each
 * method is called once per call or batch, never per event.
 */
export type Measures = {
  readonly forwards: ForwardCounts
  /** Called when an action has ended. `name` may be the name of no action. */
  ran(name: string, durationMs: number, error: ErrorKind | undefined): void
  stored(batch: StoredBatch): void
  lookedUp(durationMs: number): void
  limitHit(limit: string): void
  /** Called when a delivery of a mail has ended. The mail server refuses a mail for good; a failed delivery is tried again. */
  mailed(outcome: 'sent' | 'refused' | 'failed'): void
}
