/** A metric that the operator listener exports. The names of histograms also exist with `_bucket`, `_sum` and `_count`. */
export type MetricDefinition = {
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  /** Names of the labels. Label values come from closed lists, except for the ids and names of the 200 largest projects. */
  labels?: readonly string[]
  /** Upper bounds of the buckets of a histogram. */
  buckets?: readonly number[]
  /** True if every node exports the same value for the whole instance, false if the value describes one node. */
  isOfInstance?: boolean
}

/** Every metric by name: the registry, the table in docs/operating.md and the tests of dashboard and alert rules use this list. */
export const METRICS = {
  muster_build_info: { type: 'gauge', help: 'Always 1, with the version of this hub.', labels: ['version'] },
  muster_health: {
    type: 'gauge',
    help: '1 for the current state of this node (starting, ready, degraded, draining), else 0.',
    labels: ['state'],
  },
  muster_ready: { type: 'gauge', help: '1 if load balancers should send requests to this node, else 0.' },
  muster_degraded: {
    type: 'gauge',
    help: '1 for each part that has a reason for the state degraded (database, disk, files, bus, clock, certificate, mail), else 0.',
    labels: ['part'],
  },
  muster_scrape_failures_total: {
    type: 'counter',
    help: 'Failed or late reads of values of the instance; the values before are exported until the next success.',
    labels: ['part'],
  },

  muster_connected_devices: { type: 'gauge', help: 'Devices with a registered connection to this node.' },
  muster_device_links: {
    type: 'gauge',
    help: 'Open links of devices on this node, also those of one-shot commands.',
  },
  muster_command_line_links: { type: 'gauge', help: 'Open links of command lines on this node.' },
  muster_device_connects_total: {
    type: 'counter',
    help: 'Admitted connections of devices: registered ones, and unregistered ones of one-shot commands.',
    labels: ['kind'],
  },
  muster_device_disconnects_total: {
    type: 'counter',
    help: 'Ended connections of devices by the kind of their end.',
    labels: ['end'],
  },
  muster_device_takeovers_total: {
    type: 'counter',
    help: 'Registered connections of devices that a newer connection of the same device ended.',
  },
  muster_shared_identities: {
    type: 'gauge',
    help: 'Devices whose identity several machines have used within the last 10 minutes.',
    isOfInstance: true,
  },
  muster_refusals_total: {
    type: 'counter',
    help: 'Refused connections of devices and command lines by reason.',
    labels: ['reason'],
  },
  muster_admission_waiting: { type: 'gauge', help: 'Connections that wait for their authentication.' },
  muster_descriptor_capacity: {
    type: 'gauge',
    help: 'File descriptors that links of devices and command lines may hold on this node.',
  },
  muster_descriptors_held: {
    type: 'gauge',
    help: 'File descriptors that links of devices and command lines hold.',
  },
  muster_http_connections: { type: 'gauge', help: 'Open HTTP connections of this node, also idle ones.' },
  muster_most_connections: {
    type: 'gauge',
    help: 'Connections that the address, person, organization or device with the most of them holds on this node.',
    labels: ['scope'],
  },

  muster_events_stored_total: { type: 'counter', help: 'Events that this node has stored.' },
  muster_ingest_waiting_bytes: { type: 'gauge', help: 'Telemetry that waits for its batch.' },
  muster_ingest_batch_rows: {
    type: 'histogram',
    help: 'Rows of the batches of events and of properties.',
    labels: ['kind'],
    buckets: [1, 10, 100, 1000, 10_000],
  },
  muster_ingest_lag_seconds: {
    type: 'histogram',
    help: 'Time from the arrival of the oldest row of a batch to its commit.',
    labels: ['kind'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  },
  muster_limit_hits_total: {
    type: 'counter',
    help: 'Calls and connections beyond a limit.',
    labels: ['limit'],
  },

  muster_forwards_open: {
    type: 'gauge',
    help: 'Open connections to ports of devices, for command lines and for web pages of devices.',
  },
  muster_forwarded_bytes_total: {
    type: 'counter',
    help: 'Bytes of these connections by direction (to_device, from_device).',
    labels: ['direction'],
  },

  muster_action_seconds: {
    type: 'histogram',
    help: 'Duration of actions by name; unknown for names that the hub does not have.',
    labels: ['action'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
  },
  muster_action_errors_total: {
    type: 'counter',
    help: 'Failed actions by name and kind (Forbidden, Invalid, RateLimited, Internal).',
    labels: ['action', 'kind'],
  },
  muster_live_streams: { type: 'gauge', help: 'Live streams of consoles.' },

  muster_database_connections: {
    type: 'gauge',
    help: 'Connections of the pool of this node by state (idle, busy).',
    labels: ['state'],
  },
  muster_database_waiting: { type: 'gauge', help: 'Statements that wait for a connection of the pool.' },
  muster_lookup_seconds: {
    type: 'histogram',
    help: 'Duration of look-ups by key.',
    buckets: [0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1],
  },
  muster_slow_statements_total: { type: 'counter', help: 'Statements that took 1 s or longer.' },
  muster_database_bytes: { type: 'gauge', help: 'Size of the database.', isOfInstance: true },

  muster_jobs: {
    type: 'gauge',
    help: 'Jobs by kind and state: waiting, running, and failed in the last 24 h.',
    labels: ['job', 'state'],
    isOfInstance: true,
  },
  muster_job_oldest_waiting_seconds: {
    type: 'gauge',
    help: 'Time for which the oldest job of a kind has been due; 0 without one.',
    labels: ['job'],
    isOfInstance: true,
  },
  muster_job_last_success_timestamp_seconds: {
    type: 'gauge',
    help: 'Unix time of the last success of a kind of job in the last 48 h.',
    labels: ['job'],
    isOfInstance: true,
  },
  muster_audit_unsealed_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest finished audit row without a seal; 0 without one.',
    isOfInstance: true,
  },
  muster_audit_seal_timestamp_seconds: {
    type: 'gauge',
    help: 'Unix time of the newest seal.',
    isOfInstance: true,
  },
  muster_audit_chain_intact: {
    type: 'gauge',
    help: '1 if the last verification of the audit log found no difference, else 0.',
    isOfInstance: true,
  },

  muster_backup_timestamp_seconds: {
    type: 'gauge',
    help: 'Unix time of the state that the last backup has; absent before the first one.',
    isOfInstance: true,
  },
  muster_backup_bytes: { type: 'gauge', help: 'Size of the last backup.', isOfInstance: true },
  muster_backup_verified: {
    type: 'gauge',
    help: '1 if the last backup was restored on trial, else 0.',
    isOfInstance: true,
  },
  muster_backup_file_intact: {
    type: 'gauge',
    help: '1 if size and time of change of the file of the last backup are unchanged, 0 if they differ or the file is gone; absent where no node can check it.',
    isOfInstance: true,
  },

  muster_blob_bytes: {
    type: 'gauge',
    help: 'Size of the available files of repositories.',
    isOfInstance: true,
  },
  muster_blob_removals_waiting: {
    type: 'gauge',
    help: 'Stored files that wait for their removal.',
    isOfInstance: true,
  },
  muster_disk_free_bytes: {
    type: 'gauge',
    help: 'Free space on the disk of a folder (data, blobs, database).',
    labels: ['folder'],
  },
  muster_disk_size_bytes: {
    type: 'gauge',
    help: 'Size of the disk of a folder (data, blobs, database).',
    labels: ['folder'],
  },
  muster_tls_certificate_expiry_timestamp_seconds: {
    type: 'gauge',
    help: 'Unix time at which the certificate of MUSTER_TLS_CERT ends; absent without one.',
  },

  muster_node_heartbeat_age_seconds: {
    type: 'gauge',
    help: 'Time since the heartbeat of this node was stored.',
  },
  muster_nodes: {
    type: 'gauge',
    help: 'Nodes by state: alive, and silent (marked as dead in the last 24 h).',
    labels: ['state'],
    isOfInstance: true,
  },
  muster_bus_connected: {
    type: 'gauge',
    help: '1 if messages reach the other nodes, else 0, by kind of the bus (in process, PostgreSQL, NATS, PostgreSQL and NATS).',
    labels: ['bus'],
  },
  muster_mails_total: {
    type: 'counter',
    help: 'Deliveries of mails by outcome: sent, refused by the mail server for good, failed (tried again).',
    labels: ['outcome'],
  },
  muster_mail_server_up: {
    type: 'gauge',
    help: '1 if the mail server of MUSTER_SMTP_URL answers, else 0; absent without one.',
  },

  muster_project_devices: {
    type: 'gauge',
    help: 'Devices of a project by state: connected, disconnected, error (connected and reporting an error), update_failed. The 200 projects with most devices have labels of their own, the rest is other.',
    labels: ['project', 'name', 'state'],
    isOfInstance: true,
  },

  process_cpu_seconds_total: { type: 'counter', help: 'Processor time of this process.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory of this process.' },
  process_start_time_seconds: { type: 'gauge', help: 'Unix time of the start of this process.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Used heap of JavaScript.' },
  nodejs_heap_size_total_bytes: { type: 'gauge', help: 'Size of the heap of JavaScript.' },
  nodejs_external_memory_bytes: { type: 'gauge', help: 'Memory of buffers outside of the heap.' },
  nodejs_eventloop_lag_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop since the last scrape by percentile (50, 99, 100).',
    labels: ['percentile'],
  },
} as const satisfies Record<string, MetricDefinition>

/** Name of a metric. */
export type MetricName = keyof typeof METRICS

/** Table of the metrics for docs/operating.md. */
export function metricsMarkdown(): string {
  const rows = Object.entries(METRICS as Record<string, MetricDefinition>).map(
    ([name, { type, help, labels = [], isOfInstance }]) =>
      `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${help}${isOfInstance ? ' Of the whole instance.' : ''} |`,
  )
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n')
}
