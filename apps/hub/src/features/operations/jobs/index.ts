// Written by `npm run gen` from the files of this folder.
export { devices_RunOperations } from './RunOperations.ts'
