// Exports for other features.
export { actorName } from './log-query.ts'
export { matchesPerson } from './shown-name.ts'
