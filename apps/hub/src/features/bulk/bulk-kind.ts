import type { AnyPermission, BulkReason } from '@muster/actions'
import type { RawBuilder } from 'kysely'
import type { Caller } from '../../platform/pipeline/caller.ts'
import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import type { Services } from '../../platform/pipeline/services.ts'

/** A selection whose filter is resolved to ids. */
export type SelectedIds = { projectId: string; of: 'devices' | 'certificates'; ids: string[] }

/** A device or certificate of a bulk action that was not processed yet. Its device exists and is locked. */
export type BulkItem = {
  position: number
  deviceId: string
  certificateId: string | undefined
  /** Changes that the preview has planned for the device; undefined for kinds without them. */
  change: unknown
}

/** Result of an item. A skipped item has a reason and, where known, the actor and the time of the earlier decision or deletion. */
export type ItemResult = {
  outcome: 'Succeeded' | 'Skipped' | 'Failed'
  reason?: BulkReason
  actor?: unknown
  actedAt?: Date
}

/** Context of a portion of a bulk action: its transaction, and what the bulk action is about. */
export type PortionWork = CommandTransaction & {
  caller: Caller
  bulkActionId: string
  projectId: string
  organizationId: string
  /** Filter of the selection that the bulk action stored; undefined if it stored none. */
  filter: unknown
  devices: Services['devices']
  writeBudgets: Services['writeBudgets']
}

/** A kind of bulk action. */
export type BulkKind = {
  /** Permission that the person of a bulk action needs, at its start and before each portion. */
  permission: AnyPermission
  /** Time in seconds for which a large bulk action waits before its first item, so that it can be cancelled. */
  delaySecs: number
  /**
   * Items per portion. A portion is one transaction, which locks their devices, so it must be short. Before each one, the rights of the person
   * are read again.
   */
  portion: number
  /** How the rows of the devices of a portion are locked. `no key update` lets devices store events and properties meanwhile. */
  locksRows: 'update' | 'no key update'
  /** Its items in words. */
  items: string
  /** Condition for the devices `d` of a filter that have an item; undefined if each has one. */
  has?: RawBuilder<boolean>
  /** Whether an item must still match the filter of the selection when its turn comes. */
  keepsFilter: boolean
  /**
   * Subquery that selects the items among the ids of a selection, with the columns `place` (position of the id in the selection), `first_seen`,
   * `certificate_id`, `device_id`, `name`, `hostname`, `token_id` and `remote_address`. Undefined for kinds whose items are planned one by one.
   */
  itemsOf?(selected: SelectedIds): RawBuilder<unknown>
  /** Processes a portion of items with few statements. Resolves to the results by position. An item without a result fails. */
  applyPortion(work: PortionWork, items: readonly BulkItem[]): Promise<Map<number, ItemResult>>
  /**
   * Queues what remains to be done after a bulk action that has processed items. A recurring job does it too, because a node that does not
   * know the kind may cancel the bulk action.
   */
  onEnd?(enqueue: CommandTransaction['enqueue']): Promise<unknown>
}

/** Result of an item that was not processed, with the actor and the time of the decision or deletion that came before. */
export function skipped(reason: BulkReason, past?: { actor: unknown; at: Date }): ItemResult {
  return { outcome: 'Skipped', reason, ...(past && { actor: past.actor, actedAt: past.at }) }
}
