// Written by `npm run gen` from the files of this folder.
export { devices_MoveReportedLabels } from './MoveReportedLabels.ts'
