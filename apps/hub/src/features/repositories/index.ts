// What other features may use.
export { deleteRepositories } from './deletion.ts'
export { repositoryNamesOf, resolvePath } from './repositories.ts'
export { repositoryToLink } from './repository-links.ts'
