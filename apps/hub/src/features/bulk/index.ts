// Exports for other features.
export { type BulkItem, type BulkKind, type ItemResult, type SelectedIds, skipped } from './bulk-kind.ts'
