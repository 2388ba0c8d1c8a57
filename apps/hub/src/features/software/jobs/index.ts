// Written by `npm run gen` from the files of this folder.
export { projects_SampleSoftware } from './SampleSoftware.ts'
