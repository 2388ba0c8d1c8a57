// Written by `npm run gen` from the files of this folder.
export { projects_QueryLabelKeys } from './QueryLabelKeys.ts'
export { projects_QueryLabelValues } from './QueryLabelValues.ts'
export { devices_SetLabels } from './SetLabels.ts'
