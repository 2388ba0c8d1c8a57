// Written by `npm run gen` from the files of this folder.
export { instance_CleanupExpired } from './CleanupExpired.ts'
export { instance_MaintainPartitions } from './MaintainPartitions.ts'
export { instance_SampleSize } from './SampleSize.ts'
