// Written by `npm run gen` from the files of this folder.
export { events_GetFeed } from './GetFeed.ts'
export { events_Query } from './QueryFeed.ts'
export { events_SetFeed } from './SetFeed.ts'
