import type { Db } from '../../platform/database/client/connection.ts'
import type { MetricReader, Put } from '../../platform/operator/metrics.ts'
import { InstanceValues, type Values } from './instance-values.ts'

/** Reads the values of the whole instance. */
export function instanceMetrics(db: Db, failed: (part: string) => void): MetricReader {
  const values = new InstanceValues(db, failed)
  return async put => putValues(put, await values.read())
}

function putValues(put: Put, values: Values): void {
  const { projects, jobs, storage, seals, nodes, backup, sharedIdentities } = values
  for (const { projectId, name, ...counts } of projects ?? []) {
    const labels = { project: projectId ?? 'other', name: name ?? 'other' }
    put('muster_project_devices', counts.connected, { ...labels, state: 'connected' })
    put('muster_project_devices', counts.disconnected, { ...labels, state: 'disconnected' })
    put('muster_project_devices', counts.error, { ...labels, state: 'error' })
    put('muster_project_devices', counts.updateFailed, { ...labels, state: 'update_failed' })
  }
  for (const { job, waiting, running, failed, oldestSecs, succeededAtSecs } of jobs ?? []) {
    put('muster_jobs', waiting, { job, state: 'waiting' })
    put('muster_jobs', running, { job, state: 'running' })
    put('muster_jobs', failed, { job, state: 'failed' })
    put('muster_job_oldest_waiting_seconds', oldestSecs, { job })
    if (succeededAtSecs !== null) put('muster_job_last_success_timestamp_seconds', succeededAtSecs, { job })
  }
  if (storage) {
    put('muster_blob_bytes', storage.blobBytes)
    put('muster_blob_removals_waiting', storage.removals)
    put('muster_database_bytes', storage.databaseBytes)
  }
  if (seals) {
    put('muster_audit_unsealed_age_seconds', seals.unsealedAgeSecs)
    if (seals.sealedAtSecs !== undefined) put('muster_audit_seal_timestamp_seconds', seals.sealedAtSecs)
    if (seals.isIntact !== undefined) put('muster_audit_chain_intact', Number(seals.isIntact))
  }
  if (backup?.last) {
    put('muster_backup_timestamp_seconds', Date.parse(backup.last.takenAt) / 1000)
    put('muster_backup_bytes', backup.last.sizeBytes)
    put('muster_backup_verified', Number(backup.last.isVerified))
    if (backup.isFileIntact !== undefined) put('muster_backup_file_intact', Number(backup.isFileIntact))
  }
  if (sharedIdentities !== undefined) put('muster_shared_identities', sharedIdentities)
  if (nodes) {
    put('muster_nodes', nodes.alive, { state: 'alive' })
    put('muster_nodes', nodes.silent, { state: 'silent' })
  }
}
