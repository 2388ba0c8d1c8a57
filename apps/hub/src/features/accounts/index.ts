// What other features may use.
export { lockAccount } from './account-lock.ts'
export { isAccountOf, matchesEmail } from './accounts.ts'
