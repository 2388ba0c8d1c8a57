// Written by `npm run gen` from the files of this folder.
export { repositories_SweepBlobs } from './SweepBlobs.ts'
