// What other features may use.
export { actorName } from './log-query.ts'
export { matchesPerson } from './shown-name.ts'
