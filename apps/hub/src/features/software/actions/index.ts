// Written by `npm run gen` from the files of this folder.
export { projects_GetSoftware } from './GetSoftware.ts'
export { repositories_GetVersionUsage } from './GetVersionUsage.ts'
export { repositories_QueryPackageUsage } from './QueryPackageUsage.ts'
