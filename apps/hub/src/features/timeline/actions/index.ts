// Written by `npm run gen` from the files of this folder.
export { devices_QueryTimeline } from './QueryTimeline.ts'
