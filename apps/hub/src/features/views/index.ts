// Exports for other features.
export { filterOfView } from './saved-views.ts'
