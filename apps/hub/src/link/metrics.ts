import type { MetricReader } from '../platform/operator/metrics.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { DeviceRegistry } from './links/registry.ts'
import type { Ingest } from './telemetry/ingest.ts'

type MeasuredLinks = {
  devices: DeviceRegistry
  gateway: Pick<Gateway, 'counts' | 'waitingCount' | 'personCount'>
  ingest: Ingest
}

/** Reads the values of the links to devices. */
export function linkMetrics({ devices, gateway, ingest }: MeasuredLinks): MetricReader {
  return put => {
    put('muster_connected_devices', devices.connectedCount)
    put('muster_device_links', devices.count)
    put('muster_command_line_links', gateway.personCount)
    const { registered, unregistered, takeovers, ends, refusals } = gateway.counts
    put('muster_device_connects_total', registered, { kind: 'registered' })
    put('muster_device_connects_total', unregistered, { kind: 'unregistered' })
    put('muster_device_takeovers_total', takeovers)
    for (const [end, count] of ends) put('muster_device_disconnects_total', count, { end })
    for (const [reason, count] of refusals) put('muster_refusals_total', count, { reason })
    put('muster_admission_waiting', gateway.waitingCount)
    put('muster_events_stored_total', ingest.eventCount)
    put('muster_ingest_waiting_bytes', ingest.waitingBytes)
  }
}
