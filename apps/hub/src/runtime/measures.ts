import type { ErrorKind } from '@muster/actions'

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
 * is called once per call or batch, never per event.
 */
export type Measures = {
  readonly forwards: ForwardCounts
  /** An action ended. `name` is one of the registry. */
  ran(name: string, durationMs: number, error: ErrorKind | undefined): void
  stored(batch: StoredBatch): void
  lookedUp(durationMs: number): void
  limitHit(limit: string): void
}
