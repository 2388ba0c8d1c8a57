// Exports for other features.
export { projects_GetPins } from './actions/GetPins.ts'
export { BY_PROJECT_NAME, fillProjectNameKeys } from './project-names.ts'
export { BY_PROBLEMS, isInState, sampleConnected, totalsOf } from './project-status.ts'
