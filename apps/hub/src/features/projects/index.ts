// Exports for other features.
export { BY_PROBLEMS, isInState, sampleConnected, totalsOf } from './project-status.ts'
