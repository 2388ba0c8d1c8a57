// Generated from the migrated database by `npm run gen`; do not edit.
import type { RawJson } from '@muster/actions/exact-json'
import type { ColumnType, Generated } from 'kysely'

type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

type AssetRow = {
  asset_id: string
  repository_id: string
  size_bytes: number
  digest: string
  status: Generated<string>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  storage_status: Generated<string>
  storage_checked_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  storage_detail: string | null
  store_id: string | null
  object_key: string | null
  sha256: Buffer | null
}

type AuditActionRow = {
  action_id: string
  action: string
  actor: ColumnType<JsonValue, string, string>
  actor_id: string | null
  data: ColumnType<JsonValue, string, string>
  status: string
  node_id: string
  request_id: string
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  finished_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  seal_no: number | null
  organization_id: string | null
  project_id: string | null
  repository_id: string | null
  device_id: string | null
  user_id: string | null
  reason: string | null
  address: string | null
  browser: string | null
}

type AuditEventRow = {
  event_id: string
  event: string
  actor: ColumnType<JsonValue, string, string>
  actor_id: string | null
  data: ColumnType<JsonValue, string, string>
  action_id: string | null
  job_id: string | null
  user_id: string | null
  organization_id: string | null
  project_id: string | null
  repository_id: string | null
  device_id: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  seal_no: number | null
  old_data: ColumnType<RawJson | null, string | null, string | null>
  address: string | null
  browser: string | null
}

type AuditSealRow = {
  seal_no: number
  action_count: number
  event_count: number
  row_hashes: Buffer | null
  rows_hash: Buffer
  previous_hash: Buffer
  hash: Buffer
  signature: Buffer
  sealed_at: ColumnType<Date, Date | string, Date | string>
  newest_at: ColumnType<Date, Date | string, Date | string>
  removed_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  removal_signature: Buffer | null
  form: Generated<number>
}

type BlobRemovalRow = {
  asset_id: string
  store_id: string | null
  object_key: string
  attempts: Generated<number>
  not_before: ColumnType<Date, Date | string | undefined, Date | string>
  detail: string | null
}

type BulkActionRow = {
  bulk_action_id: string
  project_id: string
  kind: string
  status: Generated<string>
  user_id: string
  session_id: string | null
  filter: ColumnType<JsonValue | null, string | null, string | null>
  item_count: Generated<number>
  succeeded_count: Generated<number>
  skipped_count: Generated<number>
  failed_count: Generated<number>
  action_id: string | null
  job_id: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  started_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  due_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  ended_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  cancelled_by: ColumnType<JsonValue | null, string | null, string | null>
  token_id: string | null
  change: ColumnType<JsonValue | null, string | null, string | null>
  left_out_count: Generated<number>
  row_count: Generated<number>
  undoes: string | null
  undone_by: string | null
}

type BulkActionItemRow = {
  bulk_action_id: string
  position: number
  device_id: string
  certificate_id: string | null
  name: string | null
  hostname: string | null
  token_id: string | null
  remote_address: string | null
  outcome: string | null
  reason: string | null
  actor: ColumnType<JsonValue | null, string | null, string | null>
  acted_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  change: ColumnType<JsonValue | null, string | null, string | null>
  row_number: number | null
}

type BulkImportProblemRow = {
  bulk_action_id: string
  position: number
  row_number: number
  key: string
  problem: string
  message: string | null
}

type ClusterNodeRow = {
  node_id: string
  name: string
  joined_at: ColumnType<Date, Date | string | undefined, Date | string>
  last_heartbeat: ColumnType<Date, Date | string | undefined, Date | string>
  left_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  facts: ColumnType<JsonValue | null, string | null, string | null>
  evicted_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  link_url: string | null
  draining_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  connection_count: number | null
  clock_ahead_ms: number | null
  newest_migration: string | null
  release_total: number | null
  release_done: Generated<number>
  release_started_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  carriers: string | null
}

type DatabaseSizeRow = {
  sampled_on: ColumnType<Date, string, string>
  size_bytes: number
}

type DeploymentTokenRow = {
  token_id: string
  token_hash: Buffer
  project_id: string
  name: string | null
  auto_accept: Generated<boolean>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  last_refusal_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  last_refusal_reason: string | null
  last_refusal_count: Generated<number>
  expires_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  device_limit: number | null
  new_devices_at_once: number | null
  new_devices_per_hour: number | null
  budget_used: Generated<number>
  budget_at: ColumnType<Date, Date | string | undefined, Date | string>
  enrolled_devices: Generated<number>
  refused_devices: Generated<number>
  last_used_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  last_used_device_id: string | null
  last_used_address: string | null
  own_certificate: Generated<boolean>
  labels: ColumnType<JsonValue | null, string | null, string | null>
}

type DeviceRow = {
  device_id: string
  project_id: string
  fingerprint_id: string
  fingerprint_hash: Buffer
  name: string | null
  first_seen: ColumnType<Date, Date | string | undefined, Date | string>
  is_connected: Generated<boolean>
  connection_id: string | null
  last_connected_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  pending_certificates: Generated<number>
  hostname: string | null
  health: string | null
  last_refusal_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  last_refusal_reason: string | null
  last_refusal_count: Generated<number>
  search_text: Generated<string>
  property_version_floor: Generated<number>
  addresses_version: number | null
  last_refusal_since: ColumnType<Date | null, Date | string | null, Date | string | null>
  name_key: Generated<string>
}

type DeviceAddressRow = {
  device_id: string
  project_id: string
  address: string
  is_mac: boolean
  interface: string | null
}

type DeviceBlockRow = {
  block_id: string
  project_id: string
  device_id: string
  fingerprint_id: string
  fingerprint_hash: Buffer
  name: string | null
  hostname: string | null
  actor: ColumnType<JsonValue, string, string>
  blocked_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type DeviceBlockCertificateRow = {
  block_id: string
  project_id: string
  fingerprint: string
}

type DeviceCertificateRow = {
  certificate_id: string
  device_id: string
  fingerprint: string
  status: string
  first_seen: ColumnType<Date, Date | string | undefined, Date | string>
  token_id: string | null
  remote_address: string | null
  expires_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  predecessor_id: string | null
}

type DeviceCertificateChangeRow = {
  device_id: string
  certificate_id: string
  fingerprint: string
  status: string
  actor: ColumnType<JsonValue, string, string>
  changed_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type DeviceCertificateTombstoneRow = {
  device_id: string
  fingerprint: string
  status: string
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type DeviceConnectionRow = {
  connection_id: string
  device_id: string
  node_id: string
  token_id: string
  certificate_id: string
  connected_at: ColumnType<Date, Date | string | undefined, Date | string>
  ended_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  end_reason: string | null
  remote_address: string | null
  instance: string | null
  was_taken_over: Generated<boolean>
}

type DeviceEventRow = {
  device_id: string
  event_id: string
  event_day: ColumnType<Date, string, string>
  severity: string
  category: string | null
  body: ColumnType<RawJson, string, string>
  attributes: ColumnType<RawJson, string, string>
  emitted_at: ColumnType<Date, Date | string, Date | string>
  received_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type DeviceLabelRow = {
  device_id: string
  key: string
  project_id: string
  value: string
}

type DeviceOperationRow = {
  operation_id: string
  position: Generated<number>
  device_id: string
  project_id: string
  definition_id: string
  name: string
  description: string | null
  created_by: ColumnType<JsonValue, string, string>
  status: Generated<string>
  step_index: Generated<number>
  step_count: number
  step_states: ColumnType<JsonValue, string, string>
  last_error: string | null
  writes: Generated<string[]>
  work_kind: string | null
  is_awaiting: Generated<boolean>
  due_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  deadline_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  held_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  hub_failures: Generated<number>
  claim_id: string | null
  claim_session: string | null
  claimed_until: ColumnType<Date | null, Date | string | null, Date | string | null>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  started_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  completed_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  updated_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type DeviceOperationOutputRow = {
  operation_id: string
  step_index: number
  output: ColumnType<RawJson | null, string | null, string | null>
  checkpoint: ColumnType<RawJson | null, string | null, string | null>
}

type DeviceOperationTransitionRow = {
  transition_id: Generated<string>
  operation_id: string
  at: ColumnType<Date, Date | string | undefined, Date | string>
  step_index: number | null
  status: string
  reason: string | null
}

type DevicePropertyRow = {
  device_id: string
  name: string
  value: ColumnType<RawJson, string, string>
  value_json: ColumnType<JsonValue | null, string | null, string | null>
  protected: Generated<boolean>
  version: Generated<number>
  last_updated: ColumnType<Date, Date | string | undefined, Date | string>
  value_bytes: number | null
}

type DevicePropertyChangeRow = {
  device_id: string
  name: string
  version: number
  value: ColumnType<RawJson | null, string | null, string | null>
  actor: ColumnType<JsonValue, string, string>
  changed_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type DeviceRefusalsRow = {
  device_id: string
  latest: ColumnType<JsonValue, string, string>
}

type DeviceRemovalRow = {
  device_id: string
  removed_at: ColumnType<Date, Date | string, Date | string>
}

type DeviceSharedIdentityRow = {
  device_id: string
  takeovers: number
  addresses: ColumnType<JsonValue, string, string>
  is_one_machine: boolean
  first_at: ColumnType<Date, Date | string, Date | string>
  last_at: ColumnType<Date, Date | string, Date | string>
}

type DeviceStoredBytesRow = {
  device_id: string
  day: ColumnType<Date, string, string>
  event_bytes: Generated<number>
  change_bytes: Generated<number>
}

type DeviceUpdateRow = {
  device_id: string
  property_version: number
  path: string | null
  current_version: string | null
  target_version: string | null
  state: string | null
  failure_count: number | null
  error: string | null
}

type DeviceViewRow = {
  view_id: string
  project_id: string
  owner_id: string | null
  name: string
  filter: ColumnType<JsonValue, string, string>
  columns: ColumnType<JsonValue | null, string | null, string | null>
  sort: string | null
  is_shared: boolean
  is_in_row: boolean
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  changed_at: ColumnType<Date, Date | string | undefined, Date | string>
  deleted_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  deleted_by: ColumnType<JsonValue | null, string | null, string | null>
}

type EventRateRow = {
  starts_at: ColumnType<Date, Date | string, Date | string>
  event_count: number
}

type InstanceSettingRow = {
  key: string
  value: ColumnType<JsonValue, string, string>
}

type InvitationMailRow = {
  email: string
  queued_at: (Date | null)[]
}

type LimitHitRow = {
  subject_id: string
  limit_name: string
  message: string
  hits: number
  first_hit_at: ColumnType<Date, Date | string | undefined, Date | string>
  last_hit_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type MailedTokenRow = {
  jwt_id: string
  purpose: string
  user_id: string
  new_email: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  expires_at: ColumnType<Date, Date | string, Date | string>
  used_at: ColumnType<Date | null, Date | string | null, Date | string | null>
}

type MigrationRow = {
  name: string
  checksum: string
  applied_at: ColumnType<Date, Date | string | undefined, Date | string>
  oldest_release: string | null
}

type ObjectStoreRow = {
  store_id: string
  is_instance: boolean
  endpoint: string
  bucket: string
  region: string | null
  prefix: string | null
  force_path_style: boolean
  takes_conditions: boolean | null
  access_key_id: string
  secret_access_key: Buffer
}

type OperationDefinitionRow = {
  definition_id: string
  project_id: string
  steps: ColumnType<RawJson, string, string>
  step_count: number
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type OperationQueueRow = {
  project_id: string
  due_at: ColumnType<Date | null, Date | string | null, Date | string | null>
}

type OrganizationRow = {
  organization_id: string
  name: string
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type OrganizationInvitationRow = {
  invitation_id: string
  organization_id: string
  email: string
  inviting_user_id: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  link_id: Generated<string>
  expires_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  mail_state: string | null
  mail_reason: string | null
  mail_queued_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  resent_at: Generated<(Date | null)[]>
}

type OrganizationMemberRow = {
  organization_id: string
  user_id: string
  is_admin: Generated<boolean>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type OutboxRow = {
  message_id: string
  organization_id: string
  project_id: string | null
  type: string
  ids: ColumnType<JsonValue, string | undefined, string>
  actor: ColumnType<JsonValue | null, string | null, string | null>
  data: ColumnType<JsonValue, string, string>
  old_data: ColumnType<RawJson | null, string | null, string | null>
  created_at: ColumnType<Date, Date | string, Date | string>
  position: number | null
}

type OutboxPositionRow = {
  organization_id: string
  last_position: Generated<number>
  removed_position: Generated<number>
}

type OutboxReaderRow = {
  organization_id: string
  is_copied: Generated<boolean>
  feed_epoch: string | null
  feed_from: Generated<number>
}

type PackageRow = {
  package_id: string
  repository_id: string
  name: string
  kind: string | null
  metadata: ColumnType<JsonValue, string | undefined, string>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type PackageAssetRow = {
  package_id: string
  filename: string
  asset_id: string
  metadata: ColumnType<JsonValue, string | undefined, string>
}

type PackageTagRow = {
  package_id: string
  tag: string
  version_id: string
  locked: Generated<boolean>
}

type PackageTagChangeRow = {
  package_id: string
  tag: string
  version_id: string | null
  locked: boolean
  actor: ColumnType<JsonValue, string, string>
  changed_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type PackageVersionRow = {
  version_id: string
  package_id: string
  name: string | null
  metadata: ColumnType<JsonValue, string | undefined, string>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type ProjectRow = {
  project_id: string
  organization_id: string
  name: string
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  pinned_properties: ColumnType<JsonValue, string | undefined, string>
  certificate_renewal: Generated<boolean>
  name_key: Generated<string>
}

type ProjectDeviceCountRow = {
  project_id: string
  part: number
  devices: number
}

type ProjectRemovalRow = {
  project_id: string
  removed_at: ColumnType<Date, Date | string, Date | string>
}

type ProjectRepositoryRow = {
  project_id: string
  repository_id: string
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type ProjectStatusRow = {
  project_id: string
  counted_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  device_count: number | null
  connected_count: number | null
  warning_count: number | null
  error_count: number | null
  pending_count: number | null
  bins: ColumnType<JsonValue | null, string | null, string | null>
  sampled_step: number | null
  connected_counts: Generated<(number | null)[]>
  update_failure: ColumnType<JsonValue | null, string | null, string | null>
}

type ProjectStoredBytesRow = {
  project_id: string
  bytes: number
  measured_at: ColumnType<Date, Date | string, Date | string>
}

type ProxyHostRow = {
  hostname: string
  device_id: string
}

type ProxyTokenRow = {
  token_id: string
  device_id: string
  hostname: string
  port: number
  user_id: string
  session_id: string | null
  user_token_id: string | null
  redirect: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  expires_at: ColumnType<Date, Date | string, Date | string>
}

type RateLimitCountRow = {
  key: string
  points: number
  expire: number | null
}

type RegistrationRow = {
  user_id: string
  status: string
  message: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type RepositoryRow = {
  repository_id: string
  organization_id: string
  display_name: string
  slug: string | null
  visibility: Generated<string>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  store_id: string | null
}

type RepositoryFormerNameRow = {
  repository_id: string
  name: string
  is_slug: boolean
  given_up_at: ColumnType<Date, Date | string, Date | string>
}

type RepositoryStoredBytesRow = {
  repository_id: string
  metadata_bytes: number
  measured_at: ColumnType<Date, Date | string, Date | string>
}

type SessionRow = {
  session_id: string
  token_hash: Buffer
  user_id: string
  user_agent: string
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  expires_at: ColumnType<Date, Date | string, Date | string>
}

type SoftwareSampleRow = {
  project_id: string
  sampled_at: ColumnType<Date, Date | string, Date | string>
  counts: ColumnType<JsonValue, string, string>
}

type UserRow = {
  user_id: string
  email: string
  display_name: string | null
  password_hash: string | null
  is_admin: Generated<boolean>
  is_active: Generated<boolean>
  consented_to_terms: Generated<boolean>
  consented_to_marketing: Generated<boolean>
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  last_seen_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  canonical_email: string | null
}

type UserTokenRow = {
  token_id: string
  token_hash: Buffer
  user_id: string
  name: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  expires_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  last_used_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  last_used_address: string | null
  predates_shares: Generated<boolean>
}

type UserViewRow = {
  user_id: string
  project_id: string
  columns: ColumnType<JsonValue | null, string | null, string | null>
  name_width_px: number | null
  pinned_properties: ColumnType<JsonValue | null, string | null, string | null>
  sort: string | null
}

type VersionAssetRow = {
  version_id: string
  filename: string
  asset_id: string
  metadata: ColumnType<JsonValue, string | undefined, string>
}

type WebhookRow = {
  webhook_id: string
  organization_id: string
  project_id: string | null
  name: string
  format: string
  address: Buffer
  shown_address: string
  credential: Buffer | null
  room: string | null
  template: string | null
  types: string[] | null
  secret: Buffer
  former_secret: Buffer | null
  former_until: ColumnType<Date | null, Date | string | null, Date | string | null>
  is_enabled: Generated<boolean>
  off_reason: string | null
  created_at: ColumnType<Date, Date | string | undefined, Date | string>
  changed_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type WebhookAttemptRow = {
  webhook_id: string
  message_id: string
  attempt: number
  type: string
  attempted_at: ColumnType<Date, Date | string, Date | string>
  took_ms: number
  status: number | null
  error: string | null
  answer: string | null
}

type WebhookDeliveryRow = {
  webhook_id: string
  message_id: string
  created_at: ColumnType<Date, Date | string, Date | string>
  position: number
  type: string
  state: Generated<string>
  tries: Generated<number>
  attempts: Generated<number>
  due_at: ColumnType<Date, Date | string | undefined, Date | string>
}

type WebhookQueueRow = {
  webhook_id: string
  due_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  claimed_by: string | null
  claimed_until: ColumnType<Date | null, Date | string | null, Date | string | null>
  held_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  failures: Generated<number>
  failing_since: ColumnType<Date | null, Date | string | null, Date | string | null>
  last_attempt_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  last_success_at: ColumnType<Date | null, Date | string | null, Date | string | null>
  waiting: Generated<number>
  dropped: Generated<number>
}

/** Every table of the hub, as Kysely reads and writes it. */
export type Tables = {
  asset: AssetRow
  audit_action: AuditActionRow
  audit_event: AuditEventRow
  audit_seal: AuditSealRow
  blob_removal: BlobRemovalRow
  bulk_action: BulkActionRow
  bulk_action_item: BulkActionItemRow
  bulk_import_problem: BulkImportProblemRow
  cluster_node: ClusterNodeRow
  database_size: DatabaseSizeRow
  deployment_token: DeploymentTokenRow
  device: DeviceRow
  device_address: DeviceAddressRow
  device_block: DeviceBlockRow
  device_block_certificate: DeviceBlockCertificateRow
  device_certificate: DeviceCertificateRow
  device_certificate_change: DeviceCertificateChangeRow
  device_certificate_tombstone: DeviceCertificateTombstoneRow
  device_connection: DeviceConnectionRow
  device_event: DeviceEventRow
  device_label: DeviceLabelRow
  device_operation: DeviceOperationRow
  device_operation_output: DeviceOperationOutputRow
  device_operation_transition: DeviceOperationTransitionRow
  device_property: DevicePropertyRow
  device_property_change: DevicePropertyChangeRow
  device_refusals: DeviceRefusalsRow
  device_removal: DeviceRemovalRow
  device_shared_identity: DeviceSharedIdentityRow
  device_stored_bytes: DeviceStoredBytesRow
  device_update: DeviceUpdateRow
  device_view: DeviceViewRow
  event_rate: EventRateRow
  instance_setting: InstanceSettingRow
  invitation_mail: InvitationMailRow
  limit_hit: LimitHitRow
  mailed_token: MailedTokenRow
  migration: MigrationRow
  object_store: ObjectStoreRow
  operation_definition: OperationDefinitionRow
  operation_queue: OperationQueueRow
  organization: OrganizationRow
  organization_invitation: OrganizationInvitationRow
  organization_member: OrganizationMemberRow
  outbox: OutboxRow
  outbox_position: OutboxPositionRow
  outbox_reader: OutboxReaderRow
  package: PackageRow
  package_asset: PackageAssetRow
  package_tag: PackageTagRow
  package_tag_change: PackageTagChangeRow
  package_version: PackageVersionRow
  project: ProjectRow
  project_device_count: ProjectDeviceCountRow
  project_removal: ProjectRemovalRow
  project_repository: ProjectRepositoryRow
  project_status: ProjectStatusRow
  project_stored_bytes: ProjectStoredBytesRow
  proxy_host: ProxyHostRow
  proxy_token: ProxyTokenRow
  rate_limit_count: RateLimitCountRow
  registration: RegistrationRow
  repository: RepositoryRow
  repository_former_name: RepositoryFormerNameRow
  repository_stored_bytes: RepositoryStoredBytesRow
  session: SessionRow
  software_sample: SoftwareSampleRow
  user: UserRow
  user_token: UserTokenRow
  user_view: UserViewRow
  version_asset: VersionAssetRow
  webhook: WebhookRow
  webhook_attempt: WebhookAttemptRow
  webhook_delivery: WebhookDeliveryRow
  webhook_queue: WebhookQueueRow
}
