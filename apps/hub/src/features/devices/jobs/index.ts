// Written by `npm run gen` from the files of this folder.
export { devices_FillAddresses } from './FillAddresses.ts'
export { devices_FillNameKeys } from './FillNameKeys.ts'
export { devices_FillUpdates } from './FillUpdates.ts'
export { devices_MeasureStored } from './MeasureStored.ts'
export { projects_SampleConnected } from './SampleConnected.ts'
export { devices_SweepHistory } from './SweepHistory.ts'
