// What other features may use.
export { bulkDecision } from './bulk-decision.ts'
