// Exports for other features.
export { actorName, actorNames } from './log-query.ts'
export { matchesPerson } from './shown-name.ts'
