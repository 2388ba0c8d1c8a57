// Exports for other features.
export { deleteRepositories } from './deletion.ts'
export { repositoryNamesOf, resolvePath } from './repositories.ts'
export { repositoryToLink } from './repository-links.ts'
