// Exports for other features.
export { KeptAnswers } from './kept-answers.ts'
export { type LatestVersion, latestVersions } from './releases.ts'
export { HAS_FAILED } from './reported-software.ts'
export { matchesSoftware } from './software-filter.ts'
