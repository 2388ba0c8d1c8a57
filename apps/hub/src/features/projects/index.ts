// What other features may use.
export { BY_PROBLEMS, isInState, sampleConnected, totalsOf } from './project-status.ts'
