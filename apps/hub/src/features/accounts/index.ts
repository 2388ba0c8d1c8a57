// Exports for other features.
export { lockAccount } from './account-lock.ts'
export { isAccountOf, matchesEmail } from './accounts.ts'
