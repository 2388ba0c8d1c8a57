// What other features may use.
export { type BulkItem, type BulkKind, type ItemResult, type SelectedIds, skipped } from './bulk-kind.ts'
