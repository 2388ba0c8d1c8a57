// Exports for other features.
export { bulkDecision } from './bulk-decision.ts'
